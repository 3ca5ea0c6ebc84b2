/* SPDX-License-Identifier: MIT */
#include "stats_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "raw.h"
#include "spin.h"
#include "stats_control.h"
#include "stats_file.h"

enum { PAGE = 4096, MAKING_TRIES = 10, RECORDS_AT_ONCE = 32 };

typedef uint64_t __attribute__((may_alias)) aliased;

uint32_t stats_state;

static uint32_t lock;                     /* for all below */
static uint32_t rows_used;                /* row 0 included */
static uint64_t last_serial;              /* of the records */
static uint32_t records_used;             /* ever handed out */
static uint16_t ended[STATS_CONNECTIONS]; /* a ring of free records, oldest first */
static uint32_t ended_first, ended_count;
static bool ever_made; /* this process, or one that it was forked from, has made a file */
static bool closed;    /* the process ends: no more rows or records */

/* ---- making it ------------------------------------------------------- */

static uint64_t loaded_ns;

static uint64_t real_time_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The linker's name for the ELF header of the library. */
extern INTERNAL const ElfW(Ehdr) __ehdr_start;

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
    if (n <= 0)
        strncpy(h->program, now->program, sizeof(h->program) - 1);
    strncpy(h->library, UNSTALL_VERSION, sizeof(h->library) - 1);
}

static void make(void) {
    uint64_t started_ns = real_time_ns();
    struct stats_file *s = stats_file(config()->stats, started_ns);
    if (!s) {
        STORE_RELEASE(&stats_state, LIFE_REFUSED);
        return;
    }
    ever_made = true;
    fill_header(s, started_ns);
    control_begins(s);
    s->row[0] = (struct stats_row){.arm = NO_ARM, .mode = (uint8_t)s->header.mode};
    stats_valid(&s->row[0].state);
    rows_used = 1;
    uint64_t magic; /* written last: readers wait for it */
    memcpy(&magic, STATS_MAGIC, sizeof(magic));
    __atomic_store_n((aliased *)s->header.magic, magic, __ATOMIC_RELEASE);
    STORE_RELEASE(&stats_file_mapped, s);
    STORE_RELEASE(&stats_state, LIFE_THERE);
}

void stats_file_make(void) {
    uint32_t none = LIFE_NONE;
    if (!__atomic_compare_exchange_n(&stats_state, &none, LIFE_MAKING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED)) {
        /* another thread makes the file, in about a millisecond: wait, so that no count is lost */
        static const struct timespec moment = {.tv_nsec = 10000000};
        for (int i = 0; i < MAKING_TRIES && LOAD_ACQUIRE(&stats_state) == LIFE_MAKING; i++)
            raw4(SYS_futex, &stats_state, FUTEX_WAIT_PRIVATE, LIFE_MAKING, &moment);
        return;
    }
    /* a handler must not find a half-made file or jump out of here */
    int saved = errno;
    uint64_t before = raw_block_signals(~UINT64_C(0));
    make();
    raw3(SYS_futex, &stats_state, FUTEX_WAKE_PRIVATE, INT_MAX);
    raw_set_signals(before);
    errno = saved;
}

/* ---- rows and records ------------------------------------------------ */

void stats_valid(uint32_t *state) {
    STORE_RELEASE(state, (uint32_t)STATS_VALID);
}

uint32_t stats_row(const struct stats_row *wanted) {
    struct stats_file *s = stats_file_now();
    if (!s)
        return EVIDENCE_NONE;
    if (!spin_lock(&lock))
        return 0; /* the row `other` */
    uint32_t i = closed ? STATS_ROWS : 1;
    while (i < rows_used && !stats_same_row(&s->row[i], wanted))
        i++;
    if (i < STATS_ROWS && i == rows_used && !stats_file_reserve(s->shard[i], sizeof(s->shard[i])))
        i = STATS_ROWS;
    if (i >= STATS_ROWS) {
        i = 0;
        STORE(&s->header.lost_rows, s->header.lost_rows + 1);
    } else if (i == rows_used) {
        struct stats_row *row = &s->row[i];
        STORE(&row->state, (uint32_t)STATS_BEING_WRITTEN);
        memcpy((char *)row + sizeof(row->state), (const char *)wanted + sizeof(row->state),
               sizeof(*row) - sizeof(row->state));
        stats_valid(&row->state);
        rows_used++;
    }
    spin_unlock(&lock);
    return i;
}

/* Lock held. */
static bool fresh_record(struct stats_file *s) {
    if (records_used >= STATS_CONNECTIONS || closed)
        return false;
    return records_used % RECORDS_AT_ONCE != 0 ||
           stats_file_reserve(&s->connection[records_used],
                              RECORDS_AT_ONCE * sizeof(s->connection[0]));
}

uint32_t stats_record(void) {
    struct stats_file *s = stats_file_now();
    if (!s)
        return EVIDENCE_NONE;
    uint32_t i = EVIDENCE_NONE;
    if (!spin_lock(&lock))
        return i;
    if (fresh_record(s)) {
        i = records_used++;
    } else if (ended_count && !closed) {
        i = ended[ended_first];
        ended_first = (ended_first + 1) % STATS_CONNECTIONS;
        ended_count--;
    } else {
        STORE(&s->header.lost_connections, s->header.lost_connections + 1);
    }
    uint64_t serial = i == EVIDENCE_NONE ? 0 : ++last_serial;
    spin_unlock(&lock);
    if (i == EVIDENCE_NONE)
        return i;
    struct stats_connection *r = &s->connection[i];
    __atomic_exchange_n(&r->state, (uint32_t)STATS_BEING_WRITTEN, __ATOMIC_ACQ_REL);
    memset((char *)r + sizeof(r->state), 0, sizeof(*r) - sizeof(r->state));
    r->serial = serial;
    return i;
}

void stats_record_ended(uint32_t record) {
    if (!spin_lock(&lock))
        return; /* the record is not used again */
    if (ended_count < STATS_CONNECTIONS)
        ended[(ended_first + ended_count++) % STATS_CONNECTIONS] = (uint16_t)record;
    spin_unlock(&lock);
}

/* ---- forks and the end ----------------------------------------------- */

bool stats_ever_made(void) {
    return ever_made;
}

void stats_file_program_begins(void) {
    loaded_ns = clock_now();
}

void stats_file_forked(void) {
    stats_file_program_begins();
    struct stats_file *parents = stats_file_mapped;
    stats_file_mapped = NULL;
    if (stats_state != LIFE_REFUSED)
        stats_state = LIFE_NONE;
    rows_used = records_used = ended_first = ended_count = 0;
    closed = false;
    last_serial = 0;
    if (parents && !config()->no_syscalls)
        raw2(SYS_munmap, parents, STATS_BYTES);
}

/* NULL in a process that shares our memory without being our thread (a raw clone): its end is
 * not ours. */
static struct stats_file *of_this_process(void) {
    struct stats_file *s = stats_file_now();
    if (!s || config()->no_syscalls)
        return s;
    return s->header.pid == (uint32_t)raw0(SYS_getpid) ? s : NULL;
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

void stats_file_ends(bool gives_back) {
    struct stats_file *s = of_this_process();
    if (!s)
        return;
    STORE(&s->header.ended_monotonic_ns, clock_now());
    if (!gives_back || config()->no_syscalls)
        return;
    if (!spin_lock(&lock))
        return;
    closed = true;
    spin_unlock(&lock);
    give_back(&s->shard[rows_used], &s->shard[STATS_ROWS]);
    give_back(&s->connection[records_used], &s->connection[STATS_CONNECTIONS]);
}

void stats_file_goes_on(void) {
    struct stats_file *s = of_this_process();
    if (s)
        STORE(&s->header.ended_monotonic_ns, 0);
}
