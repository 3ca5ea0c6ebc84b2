/* SPDX-License-Identifier: MIT
 *
 * The call stacks of stalls.  A pattern is a pair of call sites in the program: of the first and of the
 * second write of a message.  The statistics file counts each pattern and keeps, for its first four
 * occurrences, the registers and at most 24 KiB of stack of both writes.  The command unwinds them: doing it
 * here would need malloc, locks and libgcc_s.  The frames of this library come first; the reader drops them.
 *
 * Privacy: a stack may hold secrets of the program.  Stacks are kept only with a statistics file
 * (UNSTALL_STATS), and not with UNSTALL_STACKS=0.
 *
 * Cost: the first write of a message is copied before a second one is certain: 4 to 9 µs.  So a call site
 * that has begun IDLE_MOST messages without a second write is not sampled until one occurs, and a site with
 * complete patterns is never sampled again.
 *
 * Locking: one lock for all tables, taken under a connection's lock by trylock only.  A thread that does not
 * get it keeps no stack this time.
 */
#include "evidence.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "clock.h"
#include "readable.h"
#include "stats_file.h"

enum { PAGE = 4096 };

/* ---- memory that may be unmapped: no function faults, allocates or locks -------- */

/* Neither memcpy nor a loop that the compiler turns into one: a sanitizer's memcpy reports the
 * red zones between the variables of a stack. */
__attribute__((no_sanitize("address", "thread"))) static void
copy(char *to, const volatile char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

/* Copies up to `bytes`; returns the number copied.  process_vm_readv(2) on our own process cannot fault, even
 * if another thread unmaps the memory; it stops at the first unreadable page.  Under an inherited seccomp
 * filter it is not used: a call that the filter does not allow may end the process. */
static size_t snapshot_peek(void *to, uintptr_t from, size_t bytes) {
    static uint8_t filtered; /* 1: no, 2: yes */
    struct iovec here = {to, bytes}, there = {(void *)from, bytes}; // NOLINT(performance-no-int-to-ptr)
    if (!LOAD(&filtered))
        STORE(&filtered, raw1(SYS_prctl, PR_GET_SECCOMP) == 0 ? 1 : 2);
    if (LOAD(&filtered) == 1) {
        long got = raw6(SYS_process_vm_readv, raw0(SYS_getpid), (long)&here, 1, (long)&there, 1, 0);
        return got > 0 ? (size_t)got : 0;
    }
    while (bytes && !readable_by_kernel(from, bytes))
        bytes = bytes > PAGE ? bytes - PAGE : 0;
    copy(to, there.iov_base, bytes);
    return bytes;
}

/* ---- this thread ------------------------------------------------------ */

/* The start of an unwinder: the registers that a call preserves, the stack
 * pointer and the program counter, at one instruction.  The others are zero. */
#if defined(__x86_64__)
enum { RBX = 3, RBP = 6, SP = 7, R12 = 12, RIP = 16, REGISTERS = 17 };
#elif defined(__aarch64__)
enum { X19 = 19, SP = 31, PC = 32, REGISTERS = 33 };
#else
enum { SP, REGISTERS = 0 };
#endif

static inline __attribute__((always_inline)) void registers_now(uint64_t *r) {
#if defined(__x86_64__)
    __asm__ volatile(
        "movq %%rbx, %c[rbx]*8(%[r])\n\t"
        "movq %%rbp, %c[rbp]*8(%[r])\n\t"
        "movq %%rsp, %c[rsp]*8(%[r])\n\t"
        "movq %%r12, %c[r12]*8(%[r])\n\t"
        "movq %%r13, %c[r12]*8+8(%[r])\n\t"
        "movq %%r14, %c[r12]*8+16(%[r])\n\t"
        "movq %%r15, %c[r12]*8+24(%[r])\n\t"
        "leaq 0f(%%rip), %%rax\n\t"
        "movq %%rax, %c[rip]*8(%[r])\n"
        "0:"
        :
        : [r] "r"(r), [rbx] "i"(RBX), [rbp] "i"(RBP), [rsp] "i"(SP), [r12] "i"(R12), [rip] "i"(RIP)
        : "rax", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("stp x19, x20, [%[x]]\n\t"
                     "stp x21, x22, [%[x], #16]\n\t"
                     "stp x23, x24, [%[x], #32]\n\t"
                     "stp x25, x26, [%[x], #48]\n\t"
                     "stp x27, x28, [%[x], #64]\n\t"
                     "stp x29, x30, [%[x], #80]\n\t"
                     "mov x9, sp\n\t"
                     "adr x10, 0f\n\t"
                     "stp x9, x10, [%[sp]]\n"
                     "0:"
                     :
                     : [x] "r"(r + X19), [sp] "r"(r + SP)
                     : "x9", "x10", "memory");
    _Static_assert(PC == SP + 1, "stored as a pair");
#else
    r[SP] = stack_pointer();
#endif
}

/* The copy ends at the end of the stack.  Above the main thread's stack lie the arguments and the
 * environment, which may hold secrets; above another thread's stack lies its control block. */
static __attribute__((noinline)) void stack_snapshot(struct stats_write *to, const struct evidence_write *w) {
    memset(to->registers, 0, sizeof(to->registers));
    registers_now(to->registers);
    uintptr_t sp = (uintptr_t)to->registers[SP];
    to->register_count = REGISTERS;
    size_t most = stack_end(sp) - sp;
    to->stack_bytes = (uint32_t)snapshot_peek(to->stack, sp, most - 1 < STATS_STACK ? most : STATS_STACK);
    to->bytes = w->bytes;
    to->when_ns = clock_now();
    to->thread = (uint32_t)raw0(SYS_gettid);
    to->fd = (uint32_t)w->fd;
}

/* ---- the modules of the program ----------------------------------------- */

enum { BUFFER = 8192 };

/* Parses a hexadecimal number that ends with `end`. */
static bool number(const char **at, const char *most, char end, uint64_t *value) {
    const char *first = *at;
    for (*value = 0; *at < most; ++*at) {
        const char *digits = "0123456789abcdef", *digit = **at ? strchr(digits, **at) : NULL;
        if (!digit)
            break;
        *value = *value << 4 | (uint64_t)(digit - digits);
    }
    return *at > first && *at < most && *(*at)++ == end;
}

/* "start-end perms offset major:minor inode      path" (proc_pid_maps(5)) */
bool modules_parse(const char *line, size_t bytes, struct modules_line *out) {
    const char *at = line, *end = line + bytes;
    if (!number(&at, end, '-', &out->start) || !number(&at, end, ' ', &out->end) || end - at < 5)
        return false;
    out->executable = at[2] == 'x';
    at += 5;
    if (!number(&at, end, ' ', &out->offset))
        return false;
    while (at < end && *at != '/' && *at != '[') /* over device and inode */
        at++;
    out->path = at;
    out->path_bytes = (size_t)(end - at);
    return out->end > out->start;
}

static void note_line(struct stats_file *s, const struct modules_line *line) {
    static uint64_t beginning; /* address of offset 0 of the present file */
    static uint8_t head[STATS_HEAD];
    if (line->path_bytes && line->offset == 0)
        beginning = line->start;
    if (!line->executable || line->path_bytes == 0)
        return; /* code of a JIT has no file; the reader recognises it by the missing module */
    struct stats_module *m = s->module, *end = m + STATS_MODULES;
    while (m < end && m->state == STATS_VALID && (m->start != line->start || m->end != line->end))
        m++;
    if (m == end || m->state == STATS_VALID)
        return; /* no room, or it is there */
    m->start = line->start;
    m->end = line->end;
    m->offset = line->offset;
    size_t most = sizeof(m->path) - 1, cut = line->path_bytes > most ? line->path_bytes - most : 0;
    memset(m->path, 0, sizeof(m->path));
    memcpy(m->path, line->path + cut, line->path_bytes - cut);
    if (cut)
        memcpy(m->path, "...", 3);
    size_t there = snapshot_peek(head, beginning, sizeof(head));
    m->head = there == sizeof(head) ? stats_hash(0, head, there) : 0;
    STORE_RELEASE(&m->state, STATS_VALID);
}

void modules_note(struct stats_file *s) {
    static char buffer[BUFFER];
    size_t used = 0;
    long got, fd = raw4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    while ((got = raw3(SYS_read, fd, buffer + used, BUFFER - used)) > 0) {
        used += (size_t)got;
        size_t at = 0;
        for (char *end; (end = memchr(buffer + at, '\n', used - at)) != NULL;) {
            struct modules_line line;
            if (modules_parse(buffer + at, (size_t)(end - (buffer + at)), &line))
                note_line(s, &line);
            at = (size_t)(end + 1 - buffer);
        }
        used = used - at < BUFFER ? used - at : 0; /* drops a line longer than the buffer */
        memmove(buffer, buffer + at, used);
    }
    raw1(SYS_close, fd);
}

/* ---- patterns ------------------------------------------------------------ */

enum {
    CALLERS = 64,
    CALLER_TRIES = 8,
    IDLE_MOST = 16, /* messages of one write in a row before a call site is no longer sampled */
    FIRST_WRITES = 16,
};

/* A call site that begins messages. */
struct caller {
    uintptr_t address;
    uint8_t idle; /* messages since the last second write; IDLE_MOST: not sampled */
};

/* The first write of a message that may get a second one. */
struct first_write {
    const struct evidence *owner;
    struct stats_write write;
};

static struct caller callers[CALLERS];
static struct first_write *firsts;
static uint32_t next_first;
static uint8_t occurrences[STATS_PATTERNS];
static uint32_t stacks_lock;

static struct stats_file *allowed(void) {
    const struct config *now = config();
    return now->stacks && !now->no_syscalls ? stats_file_now() : NULL;
}

/* The entry of an address, or a free one for it, or NULL. */
static struct caller *caller_of(uintptr_t address) {
    uintptr_t hash = (address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    for (unsigned i = 0; i < CALLER_TRIES; i++) {
        struct caller *k = &callers[(hash + i) % CALLERS];
        uintptr_t there = LOAD(&k->address);
        if (there == address || there == 0)
            return k;
    }
    return NULL;
}

struct stacks_piece stacks_keep(const struct evidence *e, const struct evidence_write *w) {
    struct stacks_piece piece = {w->caller, NULL};
    if (!w->caller || !allowed())
        return piece;
    struct caller *k = caller_of(w->caller);
    if (!k || LOAD(&k->idle) >= IDLE_MOST || !spin_trylock(&stacks_lock))
        return piece;
    k = caller_of(w->caller);
    if (!firsts)
        firsts = raw_map(FIRST_WRITES * sizeof(*firsts));
    if (k && firsts) {
        STORE(&k->address, w->caller);
        STORE(&k->idle, (uint8_t)(k->idle + 1));
        piece.stack = &firsts[next_first++ % FIRST_WRITES];
        piece.stack->owner = e;
        stack_snapshot(&piece.stack->write, w);
    }
    spin_unlock(&stacks_lock);
    return piece;
}

/* Patterns are taken in order and never freed.  `adds`: one that is not there yet is added; lock held. */
static struct stats_pattern *pattern_of(struct stats_file *s, const struct evidence *e, uintptr_t first,
                                        uintptr_t second, bool adds) {
    for (struct stats_pattern *p = s->pattern; p < s->pattern + STATS_PATTERNS; p++) {
        if (LOAD_ACQUIRE(&p->state) == STATS_VALID) {
            if (p->caller[0] == first && p->caller[1] == second && p->behind == e->behind)
                return p;
            continue;
        }
        if (!adds)
            return NULL;
        p->row = (uint16_t)e->row;
        p->behind = e->behind;
        p->caller[0] = first;
        p->caller[1] = second;
        STORE_RELEASE(&p->state, STATS_VALID);
        return p;
    }
    if (adds)
        __atomic_fetch_add(&s->header.lost_patterns, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Lock held. */
static void keep_occurrence(struct stats_file *s, const struct evidence *e, const struct stacks_piece *first,
                            struct stats_pattern *pattern, const struct evidence_write *w) {
    struct caller *k = caller_of(first->caller);
    struct first_write *f = first->stack;
    uint8_t *kept = &occurrences[pattern - s->pattern], n = *kept;
    if (k && k->address == first->caller)
        STORE(&k->idle, n < STATS_OCCURRENCES ? 0 : IDLE_MOST);
    if (n >= STATS_OCCURRENCES || !f || f->owner != e)
        return; /* the pattern is complete, or the first write was not kept: the site is sampled again */
    struct stats_occurrence *o = &pattern->occurrence[n];
    if (!stats_file_reserve(o, sizeof(*o)))
        return;
    o->state = STATS_BEING_WRITTEN;
    o->write[0] = f->write;
    f->owner = NULL;
    stack_snapshot(&o->write[1], w);
    STORE_RELEASE(&o->state, STATS_VALID);
    if (n == 0)
        modules_note(s); /* libraries may have been loaded since the last pattern */
    STORE(kept, (uint8_t)(n + 1));
}

void stacks_pair(struct evidence *e, const struct stacks_piece *first, const struct evidence_write *w) {
    struct stats_file *s = allowed();
    if (!s || !w->caller || !first->caller)
        return;
    struct stats_pattern *pattern = pattern_of(s, e, first->caller, w->caller, false);
    bool complete = pattern && LOAD(&occurrences[pattern - s->pattern]) >= STATS_OCCURRENCES;
    struct caller *k = caller_of(first->caller);
    if ((!complete || (k && LOAD(&k->idle) < IDLE_MOST)) && spin_trylock(&stacks_lock)) {
        pattern = pattern_of(s, e, first->caller, w->caller, true);
        if (pattern)
            keep_occurrence(s, e, first, pattern, w);
        spin_unlock(&stacks_lock);
    }
    if (!pattern)
        return;
    e->pattern = pattern;
    __atomic_fetch_add(&pattern->count, 1, __ATOMIC_RELAXED);
}

void stacks_stalled(const struct evidence *e, uint64_t ns) {
    struct stats_pattern *p = e->pattern;
    if (!p)
        return;
    __atomic_fetch_add(&p->stalls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p->stall_ns, ns, __ATOMIC_RELAXED);
}

void stacks_forked(void) {
    memset(callers, 0, sizeof(callers));
    memset(occurrences, 0, sizeof(occurrences));
    for (uint32_t i = 0; firsts && i < FIRST_WRITES; i++)
        firsts[i].owner = NULL;
}
