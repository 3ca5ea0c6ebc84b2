/* SPDX-License-Identifier: MIT */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "config.h"
#include "fds.h"
#include "coalesce_buffer.h"
#include "hold.h"
#include "kernel.h"
#include "log.h"
#include "reentry.h"
#include "raw.h"
#include "readable.h"
#include "real.h"
#include "rings.h"
#include "shim.h"
#include "stacks.h"
#include "stats.h"
#include "stats_rows.h"
#include "sweep.h"
#include "text.h"
#include "ticker_thread.h"
#include "verbose.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18 /* Linux 4.14 */
#endif

enum { GATE_PAGE = 4096, LAST_TRIES = 1000 /* milliseconds, see process_ends() */ };

/* ---- the gate -------------------------------------------------------- */

static volatile uint8_t *open_gate; /* the wiped page, once initialised */

enum { INIT_NONE, INIT_RUNS, INIT_DONE, INIT_FAILED };
static int init_state;
static int gate_owner;    /* where fork wipes no page: the process that the gate is open for */
static bool set_aside;    /* for good: see process_steps_aside() */
static uint32_t reported; /* the last report has been written */

/* Where the page is not wiped, the gate stays shut and gate_slow() asks each time. */
static void open_the_gate(void) {
    if (gate_owner)
        gate_owner = (int)raw0(SYS_getpid);
    else
        *open_gate = GATE_OPEN;
}

static bool is_forked(void) {
    if (gate_owner)
        return !config()->no_syscalls && raw0(SYS_getpid) != gate_owner;
    return *open_gate != GATE_OPEN;
}

static void fork_happened(void) {
    RAW_CHILD_BEGINS();
    fork_generation = (fork_generation + 1) & 0x3fff;
    self.turn = NULL;
    self.draining = NULL;
    ticker_forked();
    stats_forked();
    stats_file_forked();
    stacks_forked();
    nodelay_epoch++;
    reported = 0;
    hold_refused = false;
    open_the_gate();
    RAW_CHILD_ENDS();
}

/* Names the library among the list of LD_PRELOAD, whatever its directory. */
static bool is_us(const char *item, size_t length) {
    static const char us[] = "libunstall.so";
    return length >= sizeof(us) - 1 &&
           memcmp(item + length - (sizeof(us) - 1), us, sizeof(us) - 1) == 0;
}

/* UNSTALL_CHILDREN=0: take ourselves out of LD_PRELOAD, in place (a shorter
 * string always fits). */
static void leave_preload(char **environment) {
    for (char **e = environment; e && *e; e++) {
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
            continue;
        char *to = *e + 11;
        for (const char *from = to; *from;) {
            size_t length = strcspn(from, ": ");
            bool more = from[length] != '\0';
            if (!is_us(from, length)) {
                memmove(to, from, length + more);
                to += length + more;
            }
            from += length + more;
        }
        *to = '\0';
    }
}

/* A TCP socket inherited as 0, 1 or 2: a shell's or a script's own stdio writes
 * never pass by us, so it is met, and cured, here. */
static void look_at_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        struct conn *c = shim_find(fd);
        if (c)
            conn_unlock(c);
    }
}

static volatile uint8_t *make_gate(void) {
    volatile uint8_t *page = raw_map(GATE_PAGE);
    if (page && raw3(SYS_madvise, page, GATE_PAGE, MADV_WIPEONFORK) != 0) /* a sandbox, an old kernel */
        gate_owner = (int)raw0(SYS_getpid);
    return page;
}

static bool initialise(void) {
    open_gate = make_gate();
    if (!open_gate || !real_resolve())
        return false;
    /* AT_SECURE: ld.so drops LD_PRELOAD with a path; a library in the standard
     * directories may still come in, and then does nothing (ld.so(8)) */
    bool secure = getauxval(AT_SECURE) != 0;
    clock_start();
    readable_start();
    config_load(secure ? NULL : environ, program_invocation_short_name);
    if (secure)
        config_switch(MODE_OFF, true);
    verbose_start();
    rings_start();
    if (!config()->children)
        leave_preload(environ);
    open_the_gate();
    STORE_RELEASE(&gate, (const volatile uint8_t *)open_gate);
    look_at_standard_streams();
    return true;
}

bool gate_slow(void) {
    int seen = __atomic_load_n(&init_state, __ATOMIC_ACQUIRE);
    if (seen == INIT_DONE) {
        if (LOAD(&set_aside))
            return false;
        if (is_forked())
            fork_happened();
        return true;
    }
    /* a call before our constructor: from another library's, or from a thread of its */
    if (seen != INIT_NONE || !__atomic_compare_exchange_n(&init_state, &seen, INIT_RUNS, false,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return false;
    int saved = errno;
    bool good = initialise();
    __atomic_store_n(&init_state, good ? INIT_DONE : INIT_FAILED, __ATOMIC_RELEASE);
    errno = saved;
    return good;
}

__attribute__((constructor)) static void constructor(void) {
    clock_start();
    stats_file_program_begins();
    if (*LOAD(&gate) != GATE_OPEN)
        gate_slow();
}

/* ---- forks ----------------------------------------------------------- */

void process_gets_threads(void) {
    if (ticker_windowless(ticker_state()))
        hold_end_turn(PUSH_PROCESS);
    ticker_threads_seen();
}

pid_t process_forked(pid_t result) {
    if (result == 0)
        ours(); /* repair now, while it is known how the child was made */
    return result;
}

static void leave_nothing(struct conn *c, void *unused) {
    (void)unused;
    if (buffer_length(c))
        hold_push_all(c, PUSH_PROCESS);
}

void process_forks(void) {
    if (!ours())
        return;
    hold_end_turn(PUSH_PROCESS);
    if (config()->buffers) /* other threads', and what found no room before */
        fds_each(leave_nothing, NULL);
    __atomic_add_fetch(&nodelay_epoch, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&forks_made, 1, __ATOMIC_RELAXED);
}

static void still_buffered(struct conn *c, void *left) {
    *(bool *)left |= buffer_length(c) > 0;
}

static void still_open(struct conn *c, void *left) {
    *(bool *)left |= buffer_length(c) > 0 || c->lingering;
}

static void watch_again(struct conn *c, void *unused) {
    (void)unused;
    if (buffer_length(c) == 0 && !c->lingering)
        return;
    if (ticker_state() == TICKER_RUNS)
        ticker_watch(c);
    else
        hold_push_all(c, PUSH_PROCESS);
}

void process_goes_on(void) {
    bool left = false;
    if (!ours() || !config()->buffers)
        return;
    fds_each(still_open, &left);
    if (!left)
        return;
    ticker_decide(true);
    fds_each(watch_again, NULL);
}

bool process_makes_room(void) {
    if (!ours() || !LOAD(&ticker_process))
        return false;
    hold_end_turn(PUSH_PROCESS);
    sweep(PUSH_PROCESS);
    ticker_stop();
    return true;
}

/* ---- tasks that share more or less than a thread --------------------- */

/* One table of descriptors and one set of thread-locals for each thread is what all of
 * this rests on.  Where a task shares memory without them, or the table without memory,
 * every call passes through, for good, here and in children of fork: what a number leads
 * to is not known any more.  Options go back, and nothing is held. */
static void process_steps_aside(void) {
    bool left = false;
    if (!ours())
        return;
    hold_end_turn(PUSH_PROCESS);
    if (!config()->no_syscalls) {
        config_kill(); /* first: other threads begin no hold behind the sweep */
        if (config()->buffers)
            fds_each(leave_nothing, NULL);
        sweep(PUSH_PROCESS);
        ticker_stop();
        fds_each(still_open, &left);
    }
    if (left) { /* no room for a second: bytes that would be lost */
        process_goes_on();
        return;
    }
    STORE(&set_aside, true);
    *open_gate = GATE_SHUT_FOR_GOOD;
}

/* `off`, and no experiment or live control: not one system call of ours. */
static bool only_passes(void) {
    const struct config *now = config();
    return now->no_syscalls || (now->mode == MODE_OFF && now->arms.count == 0 && !stats_file_wanted());
}

/* The window's thread has ended. */
void process_unshares_table(void) {
    if (ours() && (only_passes() || ticker_tasks() != 1))
        process_steps_aside();
}

void process_clones(unsigned long flags) {
    bool memory = flags & CLONE_VM, table = flags & CLONE_FILES;
    bool thread = (flags & CLONE_THREAD) && table && (flags & CLONE_SETTLS);
    if (thread)
        process_gets_threads();
    else if (memory || table)
        process_steps_aside();
    else
        process_forks();
}

/* ---- programs -------------------------------------------------------- */

/* Asked anew each time: ioctl(FIOCLEX) and dup2 in a child change it unseen. */
static bool survives_exec(const struct conn *c) {
    if (c->refs > 1)
        return true;
    int flags = kernel->descriptor_flags(c->fd);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

/* `here`: this image is replaced; else a child may get a copy of any descriptor.  A untracked
 * connection that this program, or the parent, goes on using keeps its TCP_NODELAY: no
 * write of it passes by us at which it could be set again. */
static void hand_over(struct conn *c, void *here) {
    hold_push_all(c, PUSH_PROCESS);
    if (!*(bool *)here && !c->policy.app_nodelay)
        c->policy.nodelay_uncertain = true; /* give_back(), in the child's program */
    if (c->policy.untracked_io && (!*(bool *)here || c->untracked_at_fork))
        return;
    if (c->policy.nodelay && !c->policy.app_nodelay && !config()->no_syscalls &&
        (!*(bool *)here || survives_exec(c)))
        hold_restore(c);
}

static void hand_all_over(bool here) {
    hold_end_turn(PUSH_PROCESS);
    fds_each(hand_over, &here);
}

void process_runs_program(void) {
    if (!ours())
        return;
    hand_all_over(false);
    __atomic_add_fetch(&nodelay_epoch, 1, __ATOMIC_RELAXED);
}

static void process_reports(bool replaced) {
    stats_report();
    stats_process_ends(replaced);
}

static bool is_executable(const char *path) {
    return raw3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

/* As execvp(3) searches. */
static bool finds_program(const char *file) {
    if (strchr(file, '/'))
        return is_executable(file);
    const char *list = getenv("PATH");
    for (const char *at = list ? list : "/bin:/usr/bin";; at++) {
        size_t length = strcspn(at, ":");
        TEXT(path, 4096);
        text_add_n(&path, at, length);
        text_add(&path, length ? "/" : "");
        text_add(&path, file);
        if (is_executable(path.at))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

void process_is_replaced_by(const char *file) {
    if (LIKELY(self.depth == 0) || finds_program(file))
        process_is_replaced(NULL);
}

void process_is_replaced_at(int fd, const char *path) {
    if (LIKELY(self.depth == 0) || (path ? raw3(SYS_faccessat, fd, path, X_OK) == 0
                                         : kernel->descriptor_flags(fd) >= 0))
        process_is_replaced(NULL);
}

static void flush(struct conn *c, void *unused) {
    (void)unused;
    buffer_flush(c, 0);
}

/* Before the process ends, or its image is replaced, from inside a handler. */
static void handler_ends_process(void) {
    if (self.depth == 0 || self.vforked)
        return;
    if (*LOAD(&gate) != GATE_OPEN)
        return; /* a child that the handler forked: what is buffered is the parent's to send */
    reentry_abandon();
    fds_each(flush, NULL);
}

void process_is_replaced(const char *path) {
    if (!ours()) {
        /* a handler that interrupted us, and comes back when there is no such program, must find all as it was */
        if (!path || self.depth == 0 || is_executable(path))
            handler_ends_process();
        return;
    }
    STORE(&hold_refused, true);
    hand_all_over(true);
    /* a search of PATH fails at most of its places: those are not the end */
    if (!path || !config()->report || is_executable(path))
        process_reports(true);
}

int process_stays(int result) {
    if (ours())
        STORE(&hold_refused, false);
    stats_file_goes_on();
    return result;
}

/* An inherited connection goes back to whoever has it besides, as it came; where a child of ours
 * may write on, its cure is worth more. */
static void give_back(struct conn *c, void *unused) {
    (void)unused;
    if (c->origin == ORIGIN_FOREIGN && !c->shared && !c->policy.nodelay_uncertain &&
        c->nodelay_checked == LOAD(&nodelay_epoch) && !config()->no_syscalls)
        hold_restore(c);
}

void process_ends(void) {
    if (!ours()) {
        handler_ends_process();
        return;
    }
    STORE(&hold_refused, true);
    hold_end_turn(PUSH_PROCESS);
    /* What was buffered and finds no room in the kernel would be lost with us:
     * wait for the peer, but no longer than a second. */
    for (int i = 0; i < LAST_TRIES; i++) {
        bool left = false;
        sweep(PUSH_PROCESS);
        fds_each(still_buffered, &left);
        if (!left)
            break;
        struct timespec moment = {.tv_nsec = 1000000};
        raw2(SYS_nanosleep, &moment, NULL);
    }
    fds_each(give_back, NULL);
    if (__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED) == 0)
        process_reports(false);
}

__attribute__((destructor)) static void destructor(void) {
    process_ends();
}

/* ---- threads --------------------------------------------------------- */

void process_task_exits(void) {
    process_thread_ends();
    if (!ours())
        return;
    ticker_task_exits();
    if (ticker_tasks() > 1)
        process_goes_on(); /* what the kernel had no room for is still to be sent */
}

void process_thread_ends(void) {
    reentry_abandon(); /* by a handler that interrupted us */
    if (ours())
        hold_thread_ends();
}

static enum mode mode_before_filter;
static bool filtering;

void process_filters(bool strict) {
    if (!ours() || config()->no_syscalls)
        return;
    hold_end_turn(PUSH_PROCESS);
    if (config()->buffers)
        fds_each(leave_nothing, NULL);
    mode_before_filter = config()->mode;
    if (strict)
        STORE(&clock_stopped, clock_now());
    filtering = true;
    config_switch(MODE_OFF, true); /* first: other threads begin no hold behind the sweep */
    sweep(PUSH_PROCESS);
    ticker_stop();
}

void process_filtered(bool installed) {
    if (filtering && !installed && ours()) {
        STORE(&clock_stopped, 0);
        config_switch(mode_before_filter, false);
    }
    filtering = false;
}

/* ---- vfork (jump.S) -------------------------------------------------- */

/* The next vfork, after which the child runs on our memory; NULL when we are
 * in such a child already, or not initialised: the call is then passed on
 * without a trace. */
void *unstall_vfork_begins(void) {
    if (self.depth && !self.vforked) { /* a handler that interrupted us: its child is marked all the same */
        self.vforked = true;
        return (void *)(uintptr_t)REAL(vfork);
    }
    if (!ours())
        return NULL;
    int saved = errno;
    process_runs_program();
    errno = saved;
    self.vforked = true;
    return (void *)(uintptr_t)REAL(vfork);
}

void *unstall_vfork_next(void) {
    return (void *)(uintptr_t)REAL(vfork);
}

/* In the parent, once the child has gone its way. */
void unstall_vfork_returned(void) {
    self.vforked = false;
}
