/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "process_stat.h"
#include "symbols.h"

enum { CONNECTIONS = 64 };

/* The last two calls of a connection; `before` is NULL where the last one is not held behind it. */
struct last_calls {
    struct scan_call *before, *last;
};

struct scan_places {
    struct reader_file *process[PLACES_PROCESSES];
    struct stats_files files;
    struct last_calls calls[CONNECTIONS];
    unsigned next; /* the oldest of them, which the next one replaces */
    pid_t wanted;
};

_Static_assert((int)CALL_STACK <= (int)STATS_STACK, "a stack fits");

/* ---- a process while it lives ------------------------------------------------ */

/* The hash of the file's first bytes, which symbols.c compares. */
static uint64_t head_of(pid_t pid, const char *path) {
    uint8_t head[STATS_HEAD] = {0};
    char inside[STATS_PATH + 64];
    snprintf(inside, sizeof(inside), "/proc/%d/root%s", (int)pid, path);
    CLOSED_FD fd = open(inside, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? 0 : pread(fd, head, sizeof(head), 0);
    return n > 0 ? stats_hash(0, head, sizeof(head)) : 0;
}

/* Code without a name is not told. */
static bool take_module(const struct reader_mapping *m, void *context) {
    struct reader_file *r = context;
    struct stats_module *new = &r->modules[r->module_count];
    if (!m->is_executable || (m->path[0] != '/' && m->path[0] != '['))
        return false;
    *new = (struct stats_module){
        .state = STATS_VALID, .start = m->start, .end = m->end, .offset = m->offset};
    snprintf(new->path, sizeof(new->path), "%s%s", m->path, m->is_deleted ? " (deleted)" : "");
    new->head = m->path[0] == '/' && !m->is_deleted ? head_of((pid_t)r->header.pid, m->path) : 0;
    return ++r->module_count == STATS_MODULES;
}

static struct reader_file *look_at(pid_t pid) {
    struct process_stat stat;
    struct reader_file *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->modules = calloc(STATS_MODULES, sizeof(*r->modules));
    r->patterns = calloc(STATS_PATTERNS, sizeof(*r->patterns));
    if (!r->modules || !r->patterns) {
        reader_free(r);
        return NULL;
    }
    r->header.pid = (uint32_t)pid;
    r->header.started_ns = process_stat(pid, &stat) ? process_began_ns(stat.start) : 0;
    r->life = LIFE_RUNS;
#ifdef __aarch64__
    r->header.machine = EM_AARCH64;
#else
    r->header.machine = EM_X86_64;
#endif
    process_program(pid, r->header.program, sizeof(r->header.program));
    reader_each_mapping(pid, take_module, r);
    return r;
}

static struct reader_file *process_of(struct scan_places *p, pid_t pid) {
    unsigned room = PLACES_PROCESSES - (p->wanted && pid != p->wanted);
    for (unsigned i = 0; i < room; i++) {
        if (!p->process[i])
            p->process[i] = look_at(pid);
        if (!p->process[i] || p->process[i]->header.pid == (uint32_t)pid)
            return p->process[i];
    }
    return NULL; /* the first ones are enough */
}

/* ---- calls ---------------------------------------------------------------------- */

#ifdef __aarch64__
/* x0 to x30, sp, pc: in DWARF's order already. */
static unsigned registers_of(const struct scan_call *c, uint64_t to[STATS_REGISTERS]) {
    memcpy(to, c->registers, 33 * sizeof(*to));
    return 33;
}
#else
/* Where DWARF's registers are in struct pt_regs: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, rip. */
static unsigned registers_of(const struct scan_call *c, uint64_t to[STATS_REGISTERS]) {
    static const uint8_t at[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
    uint64_t kept[21];
    memcpy(kept, c->registers, sizeof(kept));
    for (unsigned i = 0; i < sizeof(at); i++)
        to[i] = kept[at[i]];
    return sizeof(at);
}
#endif

static void convert(const struct scan_call *c, struct stats_write *w) {
    *w = (struct stats_write){.bytes = c->bytes, .when_ns = c->when_ns, .thread = c->thread};
    w->register_count = registers_of(c, w->registers);
    w->stack_bytes = c->stack_bytes <= CALL_STACK ? c->stack_bytes : 0;
    memcpy(w->stack, c->stack, w->stack_bytes);
}

static void keep_pair(struct scan_places *p, const struct scan_call *first,
                      const struct scan_call *held) {
    struct reader_file *r = process_of(p, (pid_t)held->process);
    if (!r || r->pattern_count == STATS_PATTERNS)
        return;
    struct stats_pattern *one = &r->patterns[r->pattern_count++];
    one->state = one->occurrence[0].state = STATS_VALID;
    one->count = 1;
    one->behind = first->read != held->read; /* input was read in between: another message */
    convert(first, &one->occurrence[0].write[0]);
    convert(held, &one->occurrence[0].write[1]);
}

static struct last_calls *calls_of(struct scan_places *p, uint64_t cookie) {
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (p->calls[i].last && p->calls[i].last->cookie == cookie)
            return &p->calls[i];
    return NULL;
}

static void forget_calls(struct last_calls *l) {
    free(l->before);
    free(l->last);
    *l = (struct last_calls){NULL, NULL};
}

void scan_places_take(struct scan_places *p, const struct scan_call *call) {
    struct last_calls *l = calls_of(p, call->cookie);
    if (!l) {
        l = &p->calls[p->next++ % CONNECTIONS];
        forget_calls(l);
    }
    free(l->before);
    l->before = l->last;
    if (l->before && !(call->held && l->before->process == call->process)) {
        free(l->before);
        l->before = NULL;
    }
    l->last = malloc(sizeof(*call));
    if (l->last)
        *l->last = *call;
}

void scan_places_stalled(struct scan_places *p, uint64_t cookie) {
    struct last_calls *l = calls_of(p, cookie);
    if (l && l->before)
        keep_pair(p, l->before, l->last);
}

/* ---- places ----------------------------------------------------------------------- */

/* The return address that names a place, so that equal pairs are one pattern. */
static uint64_t caller_of(struct symbols *s, const struct stats_write *w) {
    FREED struct trace *t = malloc(sizeof(*t));
    if (t)
        symbols_trace(s, w, t);
    return t && t->count ? t->frame[0].pc + 1 : 0;
}

static struct stats_pattern *same_place(struct reader_file *r, size_t count,
                                        const struct stats_pattern *p) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(r->patterns[i].caller, p->caller, sizeof(p->caller)) == 0 &&
            r->patterns[i].behind == p->behind)
            return &r->patterns[i];
    return NULL;
}

static void unwind(struct reader_file *r) {
    struct symbols *s = symbols_begin(r);
    size_t kept = 0;
    for (size_t i = 0; s && i < r->pattern_count; i++) {
        struct stats_pattern *p = &r->patterns[i];
        for (unsigned k = 0; k < 2; k++)
            p->caller[k] = caller_of(s, &p->occurrence[0].write[k]);
        struct stats_pattern *before = same_place(r, kept, p);
        if (before)
            before->count += p->count;
        else if (p->caller[0] && p->caller[1])
            r->patterns[kept++] = *p;
    }
    r->pattern_count = kept;
    symbols_end(s);
}

/* The calls of a few stalls were kept.  The report divides all stalls of the process among the
 * places in the proportions of these few. */
static void share_stalls(struct reader_file *r, const struct scan_table *t) {
    double stalls = 0, lost_ns = 0, kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].one_way || t->rows[i].process.pid != (pid_t)r->header.pid)
            continue;
        stalls += t->rows[i].stalls.count;
        lost_ns += t->rows[i].stalls.lost_ns;
    }
    for (size_t i = 0; i < r->pattern_count; i++)
        kept += (double)r->patterns[i].count;
    for (size_t i = 0; i < r->pattern_count; i++) {
        struct stats_pattern *p = &r->patterns[i];
        double part = (double)p->count / kept;
        p->count = p->stalls = (uint64_t)(part * stalls + 0.5);
        p->stall_ns = (uint64_t)(part * lost_ns);
    }
    if (stalls == 0)
        r->pattern_count = 0;
}

const struct stats_files *scan_places_of(struct scan_places *p, const struct scan_table *t) {
    p->files = (struct stats_files){.list = p->process};
    for (unsigned i = 0; i < PLACES_PROCESSES && p->process[i]; i++) {
        unwind(p->process[i]);
        share_stalls(p->process[i], t);
        p->files.count++;
    }
    return &p->files;
}

struct scan_places *scan_places_begin(pid_t wanted) {
    struct scan_places *p = calloc(1, sizeof(*p));
    if (p)
        p->wanted = wanted;
    return p;
}

void scan_places_end(struct scan_places *p) {
    if (!p)
        return;
    for (unsigned i = 0; i < PLACES_PROCESSES; i++)
        reader_free(p->process[i]);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        forget_calls(&p->calls[i]);
    free(p);
}
