/* SPDX-License-Identifier: MIT
 *
 * What the process does as a whole: it ends, is replaced (exec), has children, changes its rights.
 *
 * Before each of these no byte may be left with us that nobody would send: sweep() pushes what is held,
 * and hold_push_buffers() sends the buffers of coalesce.  The window's thread ends before a change of
 * rights and before a fork, as a process with a second task behaves differently (window_bar).  Before a
 * child's program runs, TCP_NODELAY gets the application's value back on the sockets that the child may
 * have (hold_restore).
 */
#include "process.h"

#include <linux/keyctl.h>
#include <linux/limits.h>

#include "fds.h"
#include "readable.h"
#include "real.h"
#include "reentry.h"
#include "stats_file.h"
#include "turn.h"

static uint32_t reported = UINT32_MAX; /* the fork generation that has written its last report */

/* ---- programs -------------------------------------------------------- */

/* Asks the kernel each time, because ioctl(FIOCLEX), and dup2 in a child, change the flag unseen. */
static bool survives_exec(const struct conn *c) {
    if (c->refs > 1)
        return true;
    int flags = kernel->descriptor_flags(c->fd);
    return flags >= 0 && !(flags & FD_CLOEXEC);
}

/* `here`: this image is replaced; else a child may get a copy of any descriptor.  `waits`: also for room in
 * the kernel.  A connection with untracked I/O that this program, or the parent, goes on using keeps its
 * TCP_NODELAY: we see no write of it at which we could set the option again. */
static void hand_all_over(bool here, bool waits) {
    hold_end_turn(PUSH_PROCESS);
    if (waits)
        hold_push_buffers(here && !config()->no_syscalls);
    FDS_WALK(c, .all = !here) {
        struct policy *p = &c->policy;
        hold_push(c, PUSH_PROCESS);
        if (!here && !p->never_buffer && (!config()->buffers || config()->no_syscalls || survives_exec(c))) {
            STORE(&c->given, true);
            STORE(&p->never_buffer, true);
        }
        if (!here && !p->app_nodelay)
            p->nodelay_uncertain = true; /* process_ends(), in the child's program */
        bool keeps = p->untracked_io && (!here || c->untracked_at_fork);
        if (p->nodelay && !p->app_nodelay && !keeps && !config()->no_syscalls &&
            (!here || survives_exec(c)))
            hold_restore(c);
    }
}

void process_runs_program(void) {
    if (!gate_enter())
        return;
    hand_all_over(false, true);
    __atomic_add_fetch(&nodelay_epoch, 1, __ATOMIC_RELAXED);
}

/* What an exec is to run: `path` from `directory`, or NULL: the file that this is; or by a search of PATH. */
struct program {
    int directory;
    const char *path;
    bool searched;
};

static bool is_executable(int directory, const char *path) {
    return raw3(SYS_faccessat, directory, path, X_OK) == 0;
}

/* True: execve(2) of it will hardly fail.  What is sent for a stopped thread cannot be taken back. */
static bool surely_runs(const struct program *p) {
    char begin[4] = {0};
    if (!p->path || p->searched)
        return false;
    long fd = raw4(SYS_openat, p->directory, p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool runs = kernel->is_file((int)fd) > 0 && raw3(SYS_read, fd, begin, sizeof(begin)) > 0 &&
                (memcmp(begin, "\177ELF", 4) == 0 || memcmp(begin, "#!", 2) == 0);
    kernel->close((int)fd);
    return runs;
}

/* As execvp(3) searches. */
static bool finds_program(const char *file) {
    if (strchr(file, '/'))
        return is_executable(AT_FDCWD, file);
    const char *list = getenv("PATH");
    struct text path;
    if (!text_map(&path, PATH_MAX))
        return true;
    bool found = false;
    for (const char *at = list ? list : "/bin:/usr/bin"; !found; at++) {
        size_t length = strcspn(at, ":");
        path.used = 0;
        text_add_n(&path, at, length);
        text_print(&path, length ? "/%s" : "%s", file);
        found = is_executable(AT_FDCWD, path.at);
        at += length;
        if (!*at)
            break;
    }
    text_unmap(&path);
    return found;
}

static bool may_run(const struct program *p) {
    if (p->searched)
        return finds_program(p->path);
    return p->path ? is_executable(p->directory, p->path) : kernel->descriptor_flags(p->directory) >= 0;
}

/* No other thread will run again, so what the holder of a lock has buffered is sent, too. */
static void send_the_last(void) {
    FDS_LOOK(c) {
        if (!window_has_bytes(c))
            continue;
        bool locked = conn_lock(c);
        if (locked && !c->draining)
            buffer_flush(c, 0);
        else
            reentry_last(c);
        if (locked)
            conn_unlock(c);
    }
}

/* Before the process ends, or its image is replaced, from inside a handler. */
static void handler_ends_process(void) {
    if (self.depth == 0 || self.vforked)
        return;
    if (*LOAD(&gate) != GATE_OPEN)
        return; /* a child that the handler forked: the parent sends the buffered bytes */
    reentry_abandon();
    send_the_last();
}

/* A search of PATH tries directories that lack the program.  The process then goes on: it has not waited for
 * room in the kernel, each time a second, and has written no report; and what a handler has interrupted goes
 * on, too. */
static void replaced_by(const struct program *p) {
    if (!gate_enter()) {
        if (self.depth && may_run(p))
            handler_ends_process();
        return;
    }
    bool asks = !config()->no_syscalls && (config()->report || window_any_has_bytes());
    bool runs = !asks || may_run(p);
    STORE(&hold_refused, true);
    hand_all_over(true, runs);
    if (asks && runs && window_any_has_bytes() && surely_runs(p))
        send_the_last();
    if (runs)
        stats_process_ends(true);
}

void process_is_replaced_by(const char *file) {
    replaced_by(&(struct program){.path = file, .searched = true});
}

void process_is_replaced_at(int fd, const char *path) {
    replaced_by(&(struct program){.directory = fd, .path = path});
}

int process_exec_failed(int result) {
    if (gate_enter())
        STORE(&hold_refused, false);
    stats_file_ends(STATS_GOES_ON);
    return result;
}

__attribute__((destructor)) void process_ends(void) {
    if (!gate_enter()) {
        handler_ends_process();
        return;
    }
    STORE(&hold_refused, true);
    sweep(PUSH_PROCESS);
    hold_push_buffers(true);
    send_the_last();
    /* An inherited connection gets its options back for its other owners, unless a child of ours
     * may go on writing to it, which still needs the cure. */
    FDS_EACH(c)
    if (c->origin == ORIGIN_FOREIGN && !c->shared && !c->policy.nodelay_uncertain &&
        c->nodelay_checked == LOAD(&nodelay_epoch) && !config()->no_syscalls)
        hold_restore(c);
    if (__atomic_exchange_n(&reported, fork_generation, __ATOMIC_RELAXED) != fork_generation)
        stats_process_ends(false);
}

/* ---- threads --------------------------------------------------------- */

void process_task_exits(void) {
    process_thread_ends();
    if (gate_enter())
        window_task_exits();
}

void process_thread_ends(void) {
    reentry_abandon(); /* by a handler that interrupted us */
    if (gate_enter())
        hold_thread_ends();
}

static enum mode mode_before_filter;
static bool filtering;

void process_filters(bool strict) {
    if (!gate_enter() || config()->no_syscalls)
        return;
    hold_end_turn(PUSH_PROCESS);
    hold_push_buffers(true);
    mode_before_filter = config()->mode;
    if (strict || clock_is_call())
        STORE(&clock_stopped, clock_now());
    filtering = true;
    config_switch(MODE_OFF, true); /* first: other threads begin no hold after the sweep */
    sweep(PUSH_PROCESS);
    window_stop();
}

void process_filtered(bool installed) {
    if (filtering && !installed && gate_enter()) {
        STORE(&clock_stopped, 0);
        config_switch(mode_before_filter, false);
    }
    filtering = false;
}

/* The linker's names of the first byte of this library, and of the end of its code. */
extern const char __ehdr_start[] INTERNAL, etext[] INTERNAL;

void process_dispatches(unsigned long start, unsigned long bytes) {
    uintptr_t first = (uintptr_t)__ehdr_start, end = (uintptr_t)etext;
    if (first - start >= bytes || end - start > bytes)
        process_filters(false);
}

void process_loses_counter(void) {
    if (config()->no_syscalls && !LOAD(&clock_stopped))
        STORE(&clock_stopped, clock_now());
    clock_avoid_vdso();
}

/* ---- vfork (jump.S) -------------------------------------------------- */

/* The next vfork, whose child will run on our memory.  NULL in such a child, or before
 * initialisation: the call then passes through. */
void *unstall_vfork_begins(void) {
    bool nested = self.depth && !self.vforked; /* in a handler that interrupted us: its child is marked too */
    if (!nested && !gate_enter())
        return NULL;
    if (!nested)
        process_runs_program();
    self.vforked = true;
    return unstall_vfork_next();
}

void *unstall_vfork_next(void) {
    return (void *)(uintptr_t)REAL(vfork);
}

/* In the parent, after the child's exec or end. */
void unstall_vfork_returned(void) {
    self.vforked = false;
}

/* ---- forks ----------------------------------------------------------- */

void process_gets_threads(void) {
    if (window_windowless(window_state()))
        hold_end_turn(PUSH_PROCESS);
    window_threads_seen();
}

/* A child that runs another program restores the application's options as they were at the fork, and would
 * undo options that the application sets in the parent after it.  So the parent restores them before the
 * fork, and the next late push sets TCP_NODELAY again.  An untracked connection keeps TCP_NODELAY, because
 * the library sees no write of it at which it could set the option again. */
static void options_go_back(void) {
    if (config()->no_syscalls || !LOAD(&hold_acted))
        return;
    FDS_EACH(c)
        if (!c->policy.untracked_io)
            hold_restore(c);
}

/* Bytes of other threads leave, too, and bytes for which the kernel had no room. */
static void nothing_stays_buffered(void) {
    if (config()->buffers)
        FDS_EACH(c)
            STORE(&c->policy.never_buffer, true);
    hold_push_buffers(false);
}

/* The connections of this moment are shared from now on (conn_is_shared). */
static void all_are_shared(void) {
    __atomic_add_fetch(&forks_made, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&nodelay_epoch, 1, __ATOMIC_RELEASE);
}

/* All this comes before the handlers of pthread_atfork(3), which may write.  The window's thread ends, so
 * that parent and child have the tasks that they would have without us: Python looks at their number.  Until
 * process_forked() none starts, and without one nothing is buffered. */
uint32_t process_forks(void) {
    if (!gate_enter())
        return 0;
    hold_end_turn(PUSH_PROCESS);
    all_are_shared();
    uint32_t barred = window_bar(false);
    nothing_stays_buffered();
    options_go_back();
    return barred;
}

pid_t process_forked(pid_t result, uint32_t barred) {
    if (result == 0) {
        gate_enter(); /* the gate repairs the child now */
    } else if (barred) {
        all_are_shared(); /* those made meanwhile */
        window_unbar(barred);
        process_restarts_window();
    }
    return result;
}

void process_restarts_window(void) {
    if (gate_enter())
        window_goes_on();
}

bool process_stops_window_for_task(void) {
    if (!gate_enter() || !LOAD(&window_process))
        return false;
    window_stop();
    return true;
}

/* ---- tasks that share other resources than a thread ------------------ */

/* The library needs one table of descriptors for each process and thread-locals for each
 * thread.  If a task shares memory without them, or the table without memory, the connection
 * of a number is no longer known.  Then every call passes through for good, here and in
 * children of fork.  Options are restored, and held bytes are pushed. */
static void library_off_for_good(void) {
    bool waiting = false;
    if (!gate_enter())
        return;
    if (!config()->no_syscalls) {
        config_kill(); /* first: other threads begin no hold after the sweep */
        hold_push_buffers(false);
        sweep(PUSH_PROCESS);
        window_stop();
        waiting = window_any_has_bytes();
    }
    if (waiting) { /* the kernel had no room: bytes would be lost */
        process_restarts_window();
        return;
    }
    gate_shuts_for_good();
}

/* True: mode `off` without experiment or live control, in which the library makes no system call. */
static bool only_passes(void) {
    const struct config *now = config();
    return now->no_syscalls || (now->mode == MODE_OFF && now->arms.count == 0 && !stats_file_wanted() &&
                                !stats_file_now());
}

static bool may_ask(void) {
    return gate_enter() && !only_passes();
}

bool process_may_read(const void *start, size_t bytes) {
    return may_ask() ? readable(start, bytes) : surely_readable(start, bytes);
}

/* The window's thread has ended. */
void process_unshares_table(void) {
    if (gate_enter() && (only_passes() || window_tasks() != 1))
        library_off_for_good();
}

uint32_t process_clones(unsigned long flags) {
    bool memory = flags & CLONE_VM, table = flags & CLONE_FILES;
    bool thread = (flags & CLONE_THREAD) && table && (flags & CLONE_SETTLS);
    if (!memory && !table)
        return process_forks();
    if (thread)
        process_gets_threads();
    else
        library_off_for_good();
    return 0;
}

/* The flags are the first member (struct clone_args).  If they are not known, the child may share more or
 * less than a thread does, so the library steps aside. */
uint32_t process_clones_by(const void *arguments) {
    uint64_t flags = CLONE_VM;
    if (process_may_read(arguments, sizeof(flags)))
        memcpy(&flags, arguments, sizeof(flags));
    else if (!arguments || may_ask())
        return 0; /* the call fails, and makes no child */
    return process_clones((unsigned long)flags);
}

/* ---- changes of rights -------------------------------------------------- */

enum when { other, always, user, options };

static enum when when(long number) {
    switch (number) {
#define RIGHT(name, what) case SYS_##name: return what;
#include "rights.def"
    default: return other;
    }
}

/* True for the options of keyctl(2) and prctl(2) that change the caller's rights. */
static bool option_changes(long number, unsigned long option) {
    if (number == SYS_keyctl)
        return option == KEYCTL_JOIN_SESSION_KEYRING || option == KEYCTL_SET_REQKEY_KEYRING ||
               option == KEYCTL_ASSUME_AUTHORITY;
    return option == PR_SET_NO_NEW_PRIVS || option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
           option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS;
}

uint32_t rights_change(long number, unsigned long first) {
    enum when what = when(number);
    if (what == other || (what == options && !option_changes(number, first)) || !gate_enter())
        return 0;
    hold_end_turn(PUSH_PROCESS);
    /* Afterwards the directory of the statistics may belong to another user.  A process
     * without TCP makes no file. */
    if (what == user && stats_file_wanted() && (stats_ever_made() || fds_any()))
        stats_file_make();
    uint32_t barred = window_bar(true);
    if (number == SYS_unshare && (first & CLONE_FILES))
        process_unshares_table();
    return barred;
}

uint32_t rights_signal(long task) {
    return window_is_task(task) && gate_enter() ? window_bar(true) : 0;
}

void rights_changed(uint32_t barred) {
    if (!barred)
        return;
    window_unbar(barred);
    process_restarts_window();
}
