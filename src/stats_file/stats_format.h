/* SPDX-License-Identifier: MIT
 *
 * The statistics file: one file for each process, in the directory that UNSTALL_STATS names.  The library
 * maps and writes it, the command reads it.  This header is the whole format; both sides include it.
 *
 * File: PID-STARTED.unstall, mode 0600, STARTED in hexadecimal ns of CLOCK_REALTIME.  Its length is always
 * STATS_BYTES, with holes (zeros) where nothing was needed yet.  Read it by read(2): a look through a mapping
 * fills the holes.  A tool never truncates it and writes to `control` only.  All numbers are in the byte
 * order of the machine; times are ns of CLOCK_MONOTONIC unless said otherwise.
 *
 * Writers (the library): counters and histograms of a row are sharded by thread and added to with relaxed
 * atomics.  A connection's record is written under that connection's lock with relaxed stores.  The identity
 * of a row, a record, a module or a site is written once, then `state` is released as STATS_VALID.  Readers
 * load `state` with acquire and take everything else as a snapshot: counters may be of slightly different
 * times, but none is torn.
 *
 * The file of a killed process stays, with its last values.
 */
#ifndef UNSTALL_STATS_FORMAT_H
#define UNSTALL_STATS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATS_MAGIC  "unstall" /* 8 bytes with the final zero */
#define STATS_SUFFIX ".unstall"

enum {
    STATS_VERSION = 1, /* grows when an older reader would misread the file */

    STATS_ROWS = 32,          /* (endpoint, arm); row 0 is `other`, for endpoints without a row */
    STATS_SHARDS = 4,         /* a thread adds to shard tag % STATS_SHARDS */
    STATS_CONNECTIONS = 1024, /* a ring: the newest; live ones are kept if possible */
    STATS_MODULES = 192,
    STATS_PATTERNS = 8, /* pairs of call sites */
    STATS_OCCURRENCES = 4,
    STATS_STACK = 24576, /* bytes of stack kept for one write; the frames of a write in Node take 16 KiB */
    STATS_REGISTERS = 34,
    STATS_ARMS = 6,
    STATS_PATH = 160,
    STATS_HEAD = 4096,
};

/* One layout for 32-bit and 64-bit programs: i386 aligns a uint64_t in a struct to 4 bytes only. */
typedef uint64_t stats_u64 __attribute__((aligned(8)));

/* ---- histograms ------------------------------------------------------ */

/* Log-linear with fixed bounds: 32 buckets an octave from 2^10 ns (1 µs) to 2^37 ns (137 s).  A value is
 * known to 3.1 % (1.6 % from a bucket's middle).  Bucket 0 counts smaller values, the last bucket larger
 * ones.  Histograms of equal bounds can be added. */
enum {
    HISTOGRAM_FIRST_OCTAVE = 10,
    HISTOGRAM_OCTAVES = 27,
    HISTOGRAM_STEPS = 32, /* an octave */
    HISTOGRAM_BUCKETS = HISTOGRAM_OCTAVES * HISTOGRAM_STEPS + 2,
    COARSE_STEPS = 4, /* of a connection's own, smaller histogram */
    COARSE_BUCKETS = HISTOGRAM_OCTAVES * COARSE_STEPS + 2,
};

/* The number of the highest bit of a value that is not 0.  In BPF clang 14 has no __builtin_clzll(). */
static inline unsigned histogram_octave_of(uint64_t ns) {
    unsigned octave = 0;
    for (unsigned step = 32; step; step /= 2)
        if (ns >> step) {
            ns >>= step;
            octave += step;
        }
    return octave;
}

static inline unsigned histogram_bucket_of(uint64_t ns, unsigned steps) {
    if (ns < UINT64_C(1) << HISTOGRAM_FIRST_OCTAVE)
        return 0;
    unsigned octave = histogram_octave_of(ns);
    if (octave >= HISTOGRAM_FIRST_OCTAVE + HISTOGRAM_OCTAVES)
        return HISTOGRAM_OCTAVES * steps + 1;
    uint64_t within = ((ns - (UINT64_C(1) << octave)) * steps) >> octave;
    return 1 + (octave - HISTOGRAM_FIRST_OCTAVE) * steps + (unsigned)within;
}

/* ---- counters of a row ----------------------------------------------- */

/* NAME(constant, name in JSON and metrics, description).  The library's own counts, the statistics file,
 * the reports and the metrics are all made from these tables. */

/* Pushes, by cause. */
#define PUSH_COUNTERS_OF(NAME)                                                                     \
    NAME(PUSH_WAIT, pushes_wait, "pushes before a wait")                                           \
    NAME(PUSH_READ, pushes_read, "pushes before a read")                                           \
    NAME(PUSH_WRITE, pushes_write, "pushes before another write")                                  \
    NAME(PUSH_CLOSE, pushes_close, "pushes before a close or shutdown")                            \
    NAME(PUSH_PROCESS, pushes_process, "pushes before fork, exec or exit")                         \
    NAME(PUSH_WINDOW, pushes_window, "pushes by the window's thread")                              \
    NAME(PUSH_MODE, pushes_mode, "pushes because the mode changed")                                \
    NAME(PUSH_UNTRACKED, pushes_untracked, "pushes because a connection was found to have untracked I/O")    \
    NAME(PUSH_APPLICATION, pushes_application, "pushes at the end of the application's own hold")

/* Counted in each connection, under its lock; the pushes follow. */
#define CONNECTION_COUNTERS_OF(NAME)                                                               \
    NAME(WRITES, writes, "writes")                                                                 \
    NAME(READS, reads, "reads that brought bytes")                                                 \
    NAME(MESSAGES, messages, "runs of writes without input between")                               \
    NAME(TURNS, turns, "runs of writes without a wait between")                                    \
    NAME(BURSTS, bursts, "messages of two or more small writes")                                   \
    NAME(HELD, held_writes, "writes held in the kernel (MSG_MORE)")                                \
    NAME(BUFFERED, buffered_writes, "writes copied to the coalesce buffer")                        \
    NAME(LATE_PUSHES, late_pushes, "TCP_NODELAY set before a later write")                         \
    NAME(MISPREDICTED, mispredictions, "turns that did not end where predicted")                   \
    NAME(SUSPECTED, suspected, "second small writes under Nagle, left as they were (observe)")

/* Counted if statistics or observe are on. */
#define EVIDENCE_COUNTERS_OF(NAME)                                                                 \
    NAME(SUSPECTS, suspects, "messages that TCP_INFO was asked about")                             \
    NAME(STALLS_PROVED, stalls_proved, "stalls that the kernel's own numbers prove")               \
    NAME(STALLS_SUSPECTED, stalls_suspected, "candidates; pacing, loss or MPTCP may be the cause") \
    NAME(STALLS_CURED, stalls_cured,                                                               \
         "bursts with Nagle in force that the library kept from stalling")                         \
    NAME(STALL_NS, stall_ns, "time lost in proved stalls with a seen release, ns")                 \
    NAME(STALLS_BOUND, stalls_bound, "further proved stalls, with only a bound of the time")       \
    NAME(STALL_BOUND_NS, stall_bound_ns, "... the sum of these bounds, ns")                        \
    NAME(PEER_STALLS, peer_stalls, "the rest of a message came a delayed acknowledgement late")    \
    NAME(PEER_STALL_NS, peer_stall_ns, "time lost by them, ns")                                    \
    NAME(QUICKACKS, quickacks, "TCP_QUICKACK set (UNSTALL_QUICKACK)")                              \
    NAME(QUICKACK_SAVED_NS, quickack_saved_ns, "time saved by that, estimated, ns")

/* All counters.  Those before `connections_ended` are also in the report of UNSTALL_REPORT. */
#define STATS_COUNTERS_OF(NAME)                                                                  \
    NAME(CONNECTIONS, connections, "connections seen to carry bytes")                              \
    NAME(BYTES, bytes, "bytes written")                                                            \
    NAME(SEGMENTS, segments, "data segments sent, known at a connection's end")                    \
    NAME(UNTRACKED, untracked, "connections with untracked I/O: writes that the library does not see")       \
    CONNECTION_COUNTERS_OF(NAME)                                                                   \
    PUSH_COUNTERS_OF(NAME)                                                                         \
    EVIDENCE_COUNTERS_OF(NAME)                                                                     \
    NAME(CONNECTIONS_ENDED, connections_ended, "connections that were closed")                     \
    NAME(SMALL_WRITES, small_writes, "writes smaller than a segment")                              \
    NAME(BURSTS_2, bursts_of_2, "bursts of two small writes")                                      \
    NAME(BURSTS_3, bursts_of_3, "bursts of three")                                                 \
    NAME(BURSTS_4_7, bursts_of_4_to_7, "bursts of four to seven")                                  \
    NAME(BURSTS_8, bursts_of_8_or_more, "bursts of eight or more")                                 \
    NAME(EXCHANGES, exchanges, "messages answered by input")                                       \
    NAME(EXCHANGE_NS, exchange_ns, "first write of a message to the next input, ns")               \
    NAME(ANSWERS, answers, "inputs answered by a message")                                         \
    NAME(ANSWER_NS, answer_ns, "input to the first write after it: the application's own, ns")     \
    NAME(FIRST_WRITES, first_writes, "connections that wrote at all")                              \
    NAME(FIRST_WRITE_NS, first_write_ns, "connect or accept to the first write, ns")               \
    NAME(UNSEEN_BYTES, unseen_bytes,                                                               \
         "bytes sent beyond the bytes seen written, known at a connection's end")                  \
    NAME(STALLS_CROSSING, stalls_crossing,                                                         \
         "proved stalls of a message behind an earlier one that was not acknowledged yet")

enum stats_counter {
#define NAME(constant, name, what) COUNT_##constant,
    STATS_COUNTERS_OF(NAME)
#undef NAME
        STATS_COUNTERS,
    /* The counters from here on came later and stand behind the histograms, in what was padding; in an older
     * file they are 0. */
    STATS_FIRST_COUNTERS = COUNT_STALLS_CROSSING
};

enum { STATS_LATER_COUNTERS = 5 };

_Static_assert((int)STATS_COUNTERS - (int)STATS_FIRST_COUNTERS <= (int)STATS_LATER_COUNTERS,
               "no padding is left");

/* The counter `i` of a shard. */
#define STATS_COUNTER(shard, i)                                      \
    (*((i) < STATS_FIRST_COUNTERS ? &(shard)->counter[i]             \
                                  : &(shard)->later[(i) - STATS_FIRST_COUNTERS]))

/* One shard of one row. */
struct stats_shard {
    stats_u64 counter[STATS_FIRST_COUNTERS];
    /* The times of COUNT_EXCHANGE_NS.  On a client: the wait for the answer.  On a server: the time until
     * the peer sends again, with the peer's own work. */
    stats_u64 exchange[HISTOGRAM_BUCKETS];
    stats_u64 answer[HISTOGRAM_BUCKETS]; /* the times of COUNT_ANSWER_NS */
    stats_u64 later[STATS_LATER_COUNTERS];
} __attribute__((aligned(64)));

/* ---- identities ------------------------------------------------------ */

enum stats_state { STATS_FREE, STATS_BEING_WRITTEN, STATS_VALID };

enum stats_role {
    ROLE_UNKNOWN,     /* inherited or received: the direction is not known */
    ROLE_LISTENER,    /* connections accepted at address and port */
    ROLE_DESTINATION, /* connections made to address and port */
};

struct stats_address {
    uint8_t family; /* AF_INET, AF_INET6 (mapped ones as AF_INET), 0: not known */
    uint8_t unused;
    uint16_t port;       /* host byte order */
    uint8_t address[16]; /* AF_INET uses 4 bytes */
};

struct stats_row {
    uint32_t state; /* enum stats_state */
    uint8_t role;   /* enum stats_role */
    uint8_t arm;    /* index into the control block's arms, 0xff: none */
    uint8_t mode;   /* of its connections when they began; enum stats_mode */
    uint8_t unused;
    struct stats_address endpoint;
};

/* True for rows of the same endpoint, role, arm and mode. */
static inline bool stats_same_row(const struct stats_row *a, const struct stats_row *b) {
    return a->role == b->role && a->arm == b->arm && a->mode == b->mode &&
           __builtin_memcmp(&a->endpoint, &b->endpoint, sizeof(a->endpoint)) == 0;
}

/* The modes by number, as in the library's enum mode. */
enum stats_mode {
    STATS_MODE_OFF,
    STATS_MODE_OBSERVE,
    STATS_MODE_NODELAY,
    STATS_MODE_CORK,
    STATS_MODE_COALESCE,
    STATS_MODE_AUTO,
    STATS_MODES
};

struct stats_connection {
    uint32_t state; /* VALID: live, or the last state of an ended one (ended_ns != 0) */
    uint32_t row;
    stats_u64 serial; /* grows from 1; a gap shows a polling reader that a record was overwritten */
    stats_u64 cookie; /* SO_COOKIE or 0 */
    stats_u64 opened_ns, ended_ns;
    struct stats_address peer, local;
    uint8_t arm, mode; /* as in the row */
    uint16_t unused;
    uint32_t first_write_us; /* since opened_ns; UINT32_MAX: has not written */
    stats_u64 exchanges, exchange_ns, exchange_longest_ns;
    stats_u64 messages, bursts, writes, bytes, segments;
    stats_u64 stalls_proved, stalls_suspected, stalls_cured, stall_ns, stall_bound_ns;
    stats_u64 peer_stalls;
    uint16_t exchange[COARSE_BUCKETS]; /* saturating */
    uint32_t number; /* with which the arm was chosen (assignment.h), modulo 2^32; 0: it has no arm */
    uint8_t padding[88];
} __attribute__((aligned(64)));

/* ---- call sites ------------------------------------------------------ */

/* FNV-1a (draft-eastlake-fnv). */
static inline uint64_t stats_hash(uint64_t seed, const void *bytes, size_t count) {
    const unsigned char *b = (const unsigned char *)bytes;
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ seed;
    for (size_t i = 0; i < count; i++)
        h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

struct stats_module {
    uint32_t state;
    uint32_t unused;
    /* Identifies the mapped file: stats_hash(0, ...) of its first STATS_HEAD bytes, with zeros behind a
     * shorter file; 0: not known.  Another build has another build id there, or other headers. */
    stats_u64 head;
    stats_u64 start, end, offset; /* as in /proc/PID/maps, of the executable mapping */
    char path[STATS_PATH];     /* ends in zero; if too long: its end, after "..." */
};

/* One of the two writes of an occurrence. */
struct stats_write {
    stats_u64 bytes, when_ns;
    uint32_t thread, fd;
    uint32_t stack_bytes;    /* of `stack`, from the stack pointer upwards */
    uint32_t register_count; /* 0: the processor is not supported */
    /* The general registers in DWARF's numbering (System V ABI: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8
     * to r15, then the program counter at 16; aarch64: x0 to x30, sp, pc), taken in the exported function
     * that the program called. */
    stats_u64 registers[STATS_REGISTERS];
    uint8_t stack[STATS_STACK];
};

struct stats_occurrence {
    uint32_t state;
    uint32_t unused;
    struct stats_write write[2]; /* the first of the message, and the small one after it */
};

/* A pattern: a pair of call sites, and how often they wrote one message, or (`behind`) how often the second
 * one began a message that Nagle held behind the bytes of the first. */
struct stats_pattern {
    uint32_t state;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint16_t row, behind;
#else
    uint16_t behind, row; /* in older files `row` has 32 bits */
#endif
    stats_u64 caller[2]; /* return addresses of the two calls */
    stats_u64 count;
    stats_u64 stalls, stall_ns; /* proved stalls among them, bounds included */
    struct stats_occurrence occurrence[STATS_OCCURRENCES];
};

/* ---- control --------------------------------------------------------- */

enum stats_assignment { ASSIGN_CONNECTION, ASSIGN_PEER, ASSIGN_LISTENER };

enum { CONTROL_VERSION = 1, CONTROL_KEEP = 0xff };

/* The only part that tools write, under flock(2) of the file: `sequence` odd, the rest, `sequence` even (a
 * sequence lock, release order).  The library reads `sequence` when a message starts and at each tick of
 * the window. */
struct stats_control {
    uint32_t version; /* CONTROL_VERSION */
    uint32_t sequence;
    uint32_t mode;       /* enum stats_mode; CONTROL_KEEP: the mode at the start */
    uint32_t window_us;  /* 0: the window at the start */
    uint32_t arm_count;  /* 0: no experiment */
    uint32_t assignment; /* enum stats_assignment */
    stats_u64 seed;
    uint32_t killed; /* not 0: `off` for all connections, also with arms */
    uint8_t arm_mode[STATS_ARMS];
    uint8_t unused[2];
    uint32_t arm_weight[STATS_ARMS];
    uint8_t reserved[188];
} __attribute__((aligned(64)));

/* ---- the file -------------------------------------------------------- */

struct stats_header {
    char magic[8];
    uint32_t version, header_bytes;
    stats_u64 bytes;      /* STATS_BYTES of the writer */
    stats_u64 started_ns; /* CLOCK_REALTIME, when the file was made */
    stats_u64 started_monotonic_ns;
    stats_u64 ended_monotonic_ns; /* 0: runs, or was killed */
    uint32_t pid, parent;
    uint32_t mode;         /* in force now */
    uint32_t control_seen; /* sequence of the block that the library has adopted */
    uint32_t window_us;
    uint32_t machine;    /* ELF e_machine of the process (EM_X86_64, EM_386, EM_AARCH64, ...) */
    uint32_t stacks_off; /* the user switched call sites off (UNSTALL_STACKS=0) */
    uint32_t unused;
    stats_u64 lost_connections; /* connections without a record: the ring was full of live ones */
    stats_u64 lost_rows;        /* endpoints counted in `other` */
    stats_u64 lost_patterns;
    char program[STATS_PATH];   /* path of the executable, by the name by which it was started */
    char library[32];             /* version of the library */
    stats_u64 loaded_monotonic_ns; /* when the library was loaded, or the fork; 0: not known */
} __attribute__((aligned(64)));

struct stats_file {
    struct stats_header header;
    struct stats_control control;
    struct stats_row row[STATS_ROWS];
    struct stats_shard shard[STATS_ROWS][STATS_SHARDS];
    struct stats_connection connection[STATS_CONNECTIONS];
    struct stats_module module[STATS_MODULES];
    struct stats_pattern pattern[STATS_PATTERNS];
};

enum { STATS_BYTES = sizeof(struct stats_file) };

_Static_assert(sizeof(struct stats_control) == 256, "the control block is 256 bytes");
_Static_assert(sizeof(struct stats_connection) == 512, "a record is 512 bytes");
_Static_assert(sizeof(struct stats_row) == 28, "no padding in a row");
_Static_assert(sizeof(struct stats_shard) == 14272, "as in the files that are there");
_Static_assert(sizeof(struct stats_header) == 320 && sizeof(struct stats_module) == 200 &&
                   sizeof(struct stats_write) == 24880 && sizeof(struct stats_pattern) == 199120,
               "the same in every architecture");

#endif
