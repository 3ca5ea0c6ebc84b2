/* SPDX-License-Identifier: MIT
 *
 * Makes the statistics file.  An error costs one line of warning and the statistics.  Writeback must not
 * block the host: therefore tmpfs only.
 */
#include "stats_file.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/magic.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/vfs.h>

#include "clock.h"

enum { PAGE = 4096 };
enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

struct stats_file *stats_file_mapped;

/* One line for a process and all its forks: a child inherits `told`. */
static void warn(const char *directory, const char *what, int error) {
    static bool told;
    if (!told)
        log_line(error ? "UNSTALL_STATS=%v: %s (errno %d); no statistics"
                       : "UNSTALL_STATS=%v: %s; no statistics",
                 directory, what, (long)-error);
    told = true;
}

/* The reason to refuse the directory, or NULL. */
static const char *refused(int fd) {
    raw_stat st = {0};
#ifdef SYS_fstatfs64
    struct statfs64 fs = {0};
    long error = raw3(SYS_fstatfs64, fd, sizeof(fs), &fs);
#else
    struct statfs fs = {0};
    long error = raw2(SYS_fstatfs, fd, &fs);
#endif
    if (error || raw4(RAW_STAT_AT, fd, "", &st, AT_EMPTY_PATH) != 0)
        return "cannot be looked at";
    if (st.st_uid != (uid_t)raw0(SYS_geteuid) || (st.st_mode & OTHERS_WRITE))
        return "expected a directory of the process's own user, writable by no other user, as "
               "\"mkdir -m 700 /dev/shm/unstall\" makes it";
    if ((uint32_t)fs.f_type != TMPFS_MAGIC)
        return "expected a directory on tmpfs, as below /dev/shm: on a disk the writing back of "
               "pages could block the program";
    return NULL;
}

/* Opens the directory, but no symbolic link to one. */
static int open_directory(const char *directory) {
    int fd = (int)raw4(SYS_openat, AT_FDCWD, directory,
                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    const char *wrong = fd >= 0         ? refused(fd)
                        : fd == -ENOENT ? "there is no such directory, make one by \"mkdir -m 700\""
                        : fd == -ENOTDIR || fd == -ELOOP
                            ? "expected a directory, and no symbolic link to one"
                            : NULL;
    if (fd >= 0 && !wrong)
        return fd;
    if (fd >= 0)
        raw1(SYS_close, fd);
    warn(directory, wrong ? wrong : "cannot be opened", wrong ? 0 : fd);
    return -1;
}

static bool whole; /* all of the file is reserved */

bool stats_file_reserve(const void *part, size_t bytes) {
    uintptr_t first = (uintptr_t)part & ~(uintptr_t)(PAGE - 1);
    uintptr_t last = ((uintptr_t)part + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    return whole || (!config()->no_syscalls &&
                     raw3(SYS_madvise, first, last - first, MADV_POPULATE_WRITE) == 0);
}

/* Reserves the parts that are needed from the start; later ones follow on demand.  A kernel
 * without MADV_POPULATE_WRITE reserves the whole file. */
static bool reserve(const struct stats_file *s, int fd) {
    if (!stats_file_reserve(s, offsetof(struct stats_file, shard[1]))) {
#if __SIZEOF_LONG__ == 4 /* two halves each */
        whole = raw6(SYS_fallocate, fd, 0, 0, 0, STATS_BYTES, 0) == 0;
#else
        whole = raw4(SYS_fallocate, fd, 0, 0, STATS_BYTES) == 0;
#endif
        return whole;
    }
    bool good = stats_file_reserve(s->module, sizeof(s->module));
    for (int i = 0; good && i < STATS_PATTERNS; i++)
        good = stats_file_reserve(&s->pattern[i], offsetof(struct stats_pattern, occurrence));
    return good;
}

static struct stats_file *map(int fd, const char *directory) {
    struct rlimit64 limit = {.rlim_cur = STATS_BYTES};
    raw4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit); /* beyond it ftruncate(2) would raise SIGXFSZ */
    whole = false;
    long at = limit.rlim_cur < STATS_BYTES ? -EFBIG : raw2(SYS_ftruncate, fd, STATS_BYTES);
    if (at == 0)
        at = raw_mmap(STATS_BYTES, MAP_SHARED, fd);
    if (at < 0 && at > -4096) {
        warn(directory, "no statistics file (4 MiB) can be made there", (int)at);
        return NULL;
    }
    if (reserve((struct stats_file *)at, fd))
        return (struct stats_file *)at;
    raw2(SYS_munmap, at, STATS_BYTES);
    warn(directory, "the file system has no room for a statistics file", 0);
    return NULL;
}

/* A new file, mapped, all zero; or NULL after a warning.  No descriptor stays open. */
static struct stats_file *new_file(const char *path, uint64_t started_ns) {
    int at = open_directory(path);
    if (at < 0)
        return NULL;
    TEXT(name, 64);
    text_print(&name, "%d-%x" STATS_SUFFIX, raw0(SYS_getpid), started_ns);
    struct stats_file *s = NULL;
    int fd = (int)raw4(SYS_openat, at, name.at, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC,
                       0600);
    if (fd < 0) {
        warn(path, "no file can be made there", fd);
    } else {
        raw2(SYS_fchmod, fd, 0600); /* the umask may have removed bits */
        s = map(fd, path);
        if (!s)
            raw3(SYS_unlinkat, at, name.at, 0);
        raw1(SYS_close, fd);
    }
    raw1(SYS_close, at);
    return s;
}

/* ---- what is in it ------------------------------------------------------ */

enum { RECORDS_AT_ONCE = 32 };

typedef uint64_t __attribute__((may_alias)) aliased;

bool stats_refused;

static uint32_t lock;                     /* for all below, and the making */
static uint32_t rows_used;                /* row 0 included */
static uint64_t last_serial;              /* of the records */
static uint32_t records_used;             /* ever handed out */
static uint16_t ended[STATS_CONNECTIONS]; /* a ring of free records, oldest first */
static uint32_t ended_in, ended_out;
static bool closed; /* the process ends: no more rows or records */

/* ---- making it ------------------------------------------------------- */

static uint64_t loaded_ns;

/* The linker's name for the ELF header of the library. */
extern INTERNAL const ElfW(Ehdr) __ehdr_start;

/* A file may have several names: redis-server is a link to redis-check-rdb.  Takes the one by which it was
 * started, if that is in the same folder and neither is the beginning of the other (python3, python3.11). */
static void take_name(char *path, size_t size, const char *name) {
    const char *started = (const char *)getauxval(AT_EXECFN);
    const char *its = started ? strrchr(started, '/') : NULL, *known = strrchr(path, '/');
    size_t folder = its ? (size_t)(its - started) : 0;
    if (!its || !known || (size_t)(known - path) != folder || strncmp(path, started, folder) != 0)
        return;
    size_t a = strlen(++its), b = strlen(++known);
    bool by_it = strncmp(name, its, a) == 0; /* `name` of a script is its interpreter's */
    if (by_it && strncmp(its, known, a < b ? a : b) != 0)
        strncpy(path, started, size);
}

static void fill_header(struct stats_file *s, uint64_t started_ns) {
    struct stats_header *h = &s->header;
    const struct config *now = config();
    h->version = STATS_VERSION;
    h->header_bytes = sizeof(*h);
    h->bytes = STATS_BYTES;
    h->started_ns = started_ns;
    h->started_monotonic_ns = clock_now();
    h->loaded_monotonic_ns = loaded_ns;
    h->pid = (uint32_t)raw0(SYS_getpid);
    h->parent = (uint32_t)raw0(SYS_getppid);
    h->mode = now->killed ? MODE_OFF : now->mode;
    h->window_us = now->window_us;
    h->machine = __ehdr_start.e_machine;
    h->stacks_off = !now->stacks;
    long n = raw4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", h->program, sizeof(h->program) - 1);
    if (n > 0)
        take_name(h->program, sizeof(h->program) - 1, now->program);
    else
        strncpy(h->program, now->program, sizeof(h->program) - 1);
    strncpy(h->library, UNSTALL_VERSION, sizeof(h->library) - 1);
}

static void control_begins(struct stats_file *s);

static void make(void) {
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    uint64_t started_ns = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec;
    struct stats_file *s = new_file(config()->stats, started_ns);
    if (!s) {
        STORE(&stats_refused, true);
        return;
    }
    fill_header(s, started_ns);
    control_begins(s);
    s->row[0] = (struct stats_row){.arm = NO_ARM, .mode = (uint8_t)s->header.mode};
    STORE_RELEASE(&s->row[0].state, STATS_VALID);
    rows_used = 1;
    uint64_t magic; /* written last: readers wait for it */
    memcpy(&magic, STATS_MAGIC, sizeof(magic));
    __atomic_store_n((aliased *)s->header.magic, magic, __ATOMIC_RELEASE);
    STORE_RELEASE(&stats_file_mapped, s);
}

/* It takes about a millisecond: a second thread waits for the lock, so that no count of it is lost. */
void stats_file_make(void) {
    int saved = errno;
    if (!spin_lock(&lock))
        return;
    uint64_t before = raw_block_signals(~UINT64_C(0)); /* a handler must not jump out of here */
    if (stats_file_wanted())
        make();
    raw_set_signals(before);
    spin_unlock(&lock);
    errno = saved;
}

/* ---- rows and records ------------------------------------------------ */

uint32_t stats_row(const struct stats_row *wanted) {
    struct stats_file *s = stats_file_now();
    if (!s || !spin_lock(&lock))
        return 0; /* the row `other` */
    uint32_t i = closed ? STATS_ROWS : 1;
    while (i < rows_used && !stats_same_row(&s->row[i], wanted))
        i++;
    bool fresh = i == rows_used && i < STATS_ROWS && stats_file_reserve(s->shard[i], sizeof(s->shard[i]));
    if (fresh) {
        s->row[i] = *wanted;
        STORE_RELEASE(&s->row[i].state, STATS_VALID);
        rows_used++;
    } else if (i >= rows_used) {
        i = 0;
        STORE(&s->header.lost_rows, s->header.lost_rows + 1);
    }
    spin_unlock(&lock);
    return i;
}

/* A record that was never used, or else the one whose connection ended first.  Lock held. */
static struct stats_connection *free_record(struct stats_file *s) {
    struct stats_connection *r = &s->connection[records_used];
    if (closed)
        return NULL;
    if (records_used < STATS_CONNECTIONS &&
        (records_used % RECORDS_AT_ONCE || stats_file_reserve(r, RECORDS_AT_ONCE * sizeof(*r)))) {
        records_used++;
        return r;
    }
    return ended_out != ended_in ? &s->connection[ended[ended_out++ % STATS_CONNECTIONS]] : NULL;
}

struct stats_connection *stats_record(void) {
    struct stats_file *s = stats_file_now();
    if (!s || !spin_lock(&lock))
        return NULL;
    struct stats_connection *r = free_record(s);
    if (r) {
        __atomic_exchange_n(&r->state, (uint32_t)STATS_BEING_WRITTEN, __ATOMIC_ACQ_REL);
        memset((char *)r + sizeof(r->state), 0, sizeof(*r) - sizeof(r->state));
        r->serial = ++last_serial;
    } else {
        STORE(&s->header.lost_connections, s->header.lost_connections + 1);
    }
    spin_unlock(&lock);
    return r;
}

void stats_record_ended(const struct stats_connection *record) {
    if (!spin_lock(&lock))
        return; /* the record is not used again */
    ended[ended_in++ % STATS_CONNECTIONS] = (uint16_t)(record - stats_file_mapped->connection);
    spin_unlock(&lock);
}

/* ---- forks and the end ----------------------------------------------- */

void stats_file_program_begins(void) {
    loaded_ns = clock_now();
}

void stats_file_forked(void) {
    stats_file_program_begins();
    struct stats_file *parents = stats_file_mapped;
    stats_file_mapped = NULL;
    rows_used = records_used = ended_in = ended_out = 0;
    closed = false;
    last_serial = 0;
    if (parents && !config()->no_syscalls)
        raw2(SYS_munmap, parents, STATS_BYTES);
}

/* Returns unused pages to the system, so that the file of an ended process is small.
 * MADV_REMOVE makes a hole, which reads as zeros.  Other threads may still run: only pages that
 * no thread touches after `closed` may be given back. */
static void give_back(void *from, void *to) {
    uintptr_t first = ((uintptr_t)from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t last = (uintptr_t)to & ~(uintptr_t)(PAGE - 1);
    if (first < last)
        raw3(SYS_madvise, first, last - first, MADV_REMOVE);
}

/* The end of a process that shares our memory without being our thread (a raw clone) is not ours. */
void stats_file_ends(enum stats_end how) {
    struct stats_file *s = stats_file_now();
    bool asks = !config()->no_syscalls;
    if (!s || (asks && s->header.pid != (uint32_t)raw0(SYS_getpid)))
        return;
    STORE(&s->header.ended_monotonic_ns, how == STATS_GOES_ON ? 0 : clock_now());
    if (how != STATS_ENDS || !asks || !spin_lock(&lock))
        return;
    closed = true;
    spin_unlock(&lock);
    give_back(&s->shard[rows_used], &s->shard[STATS_ROWS]);
    give_back(&s->connection[records_used], &s->connection[STATS_CONNECTIONS]);
}

/* ---- live configuration ------------------------------------------------- */

_Static_assert((int)STATS_MODES == (int)MODES && (int)STATS_MODE_AUTO == (int)MODE_AUTO,
               "the modes of the statistics file are ours");

enum { UNFINISHED_NS = 1000000000 };

uint32_t control_seen;

static uint32_t control_lock;          /* for all below; trylock only */
static enum mode started_mode;        /* the meaning of CONTROL_KEEP */
static uint32_t started_window;       /* the meaning of window 0 */
static struct stats_control in_force; /* a forked child's file begins with it; version 0: no file was made */
static uint32_t odd;                  /* the sequence of an unfinished write */
static uint64_t odd_since;

bool stats_ever_made(void) {
    return in_force.version != 0;
}

/* Fills the control block of a new file with the configuration in force. */
static void control_begins(struct stats_file *s) {
    const struct config *now = config();
    if (!stats_ever_made()) {
        started_mode = now->mode;
        started_window = now->window_us;
        in_force = (struct stats_control){.version = CONTROL_VERSION, .mode = CONTROL_KEEP,
                                          .arm_count = now->arms.count, .seed = now->arms.seed,
                                          .assignment = now->arms.assignment};
        memcpy(in_force.arm_mode, now->arms.mode, sizeof(in_force.arm_mode));
        memcpy(in_force.arm_weight, now->arms.weight, sizeof(in_force.arm_weight));
    }
    in_force.sequence = 0;
    STORE(&control_seen, 0);
    s->control = in_force;
}

static void control_warn(const char *wrong) {
    static bool told;
    if (!told)
        log_line("the control block of the statistics file holds %s; ignored", wrong);
    told = true;
}

static void look_at_unfinished(uint32_t sequence) {
    uint64_t now = clock_now();
    if (sequence != odd) {
        odd = sequence;
        odd_since = now;
    } else if (now - odd_since > UNFINISHED_NS) {
        control_warn("an unfinished write");
    }
}

/* False: a seccomp filter was installed meanwhile. */
static bool publish(const struct stats_control *c) {
    const struct config *seen;
    struct config next;
    struct arms arms = {.count = c->arm_count, .assignment = c->assignment, .seed = c->seed};
    memcpy(arms.mode, c->arm_mode, arms.count);
    memcpy(arms.weight, c->arm_weight, arms.count * sizeof(*arms.weight));
    do {
        seen = config();
        next = *seen;
        next.mode = c->mode == CONTROL_KEEP ? started_mode : (enum mode)c->mode;
        next.window_us = c->window_us ? c->window_us : started_window;
        next.killed = c->killed != 0;
        next.experiment += memcmp(&arms, &next.arms, sizeof(arms)) != 0;
        next.arms = arms;
    } while (!seen->no_syscalls && !config_publish(seen, &next));
    return !seen->no_syscalls;
}

/* True: another configuration is in force. */
static bool adopt(struct stats_file *s) {
    struct stats_control c;
    if (stats_control_read(&s->control, &c) != 0) {
        look_at_unfinished(LOAD(&s->control.sequence));
        return false;
    }
    STORE(&control_seen, c.sequence);
    const char *wrong = stats_control_wrong(&c);
    if (wrong) {
        control_warn(wrong);
        return false;
    }
    in_force = c;
    return publish(&c);
}

bool control_look(uint32_t *sequence) {
    struct stats_file *s = stats_file_now();
    if (!s || config()->no_syscalls || !spin_trylock(&control_lock))
        return false;
    bool adopted = adopt(s);
    *sequence = control_seen;
    spin_unlock(&control_lock);
    return adopted;
}

void control_is_in_force(uint32_t sequence) {
    struct stats_file *s = stats_file_now();
    const struct config *now = config();
    if (!s)
        return;
    STORE(&s->header.mode, (uint32_t)(now->killed ? MODE_OFF : now->mode));
    STORE(&s->header.window_us, now->window_us);
    STORE_RELEASE(&s->header.control_seen, sequence);
}
