/* SPDX-License-Identifier: MIT
 *
 * Forks, and tasks that share other resources than a thread does.
 */
#include <sched.h>
#include <string.h>

#include "coalesce_buffer.h"
#include "config.h"
#include "fds.h"
#include "gate.h"
#include "hold.h"
#include "process.h"
#include "readable.h"
#include "stats_rows.h"
#include "sweep.h"
#include "ticker_thread.h"

void process_leaves_nothing(void) {
    if (!config()->buffers)
        return;
    FDS_EACH(c)
        if (buffer_length(c) && !hold_push_all(c, PUSH_PROCESS))
            FDS_LOST
}

/* ---- forks ----------------------------------------------------------- */

void process_gets_threads(void) {
    if (ticker_windowless(ticker_state()))
        hold_end_turn(PUSH_PROCESS);
    ticker_threads_seen();
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
    process_leaves_nothing();
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
    if (!ours())
        return 0;
    hold_end_turn(PUSH_PROCESS);
    all_are_shared();
    uint32_t barred = ticker_bar(false);
    nothing_stays_buffered();
    options_go_back();
    return barred;
}

pid_t process_forked(pid_t result, uint32_t barred) {
    if (result == 0) {
        ours(); /* the gate repairs the child now */
    } else if (barred) {
        all_are_shared(); /* those made meanwhile */
        ticker_unbar(barred);
        process_goes_on();
    }
    return result;
}

void process_goes_on(void) {
    if (ours())
        ticker_goes_on();
}

bool process_makes_room(void) {
    if (!ours() || !LOAD(&ticker_process))
        return false;
    hold_end_turn(PUSH_PROCESS);
    sweep(PUSH_PROCESS);
    ticker_stop();
    return true;
}

/* ---- tasks that share other resources than a thread ------------------ */

/* The library needs one table of descriptors for each process and thread-locals for each
 * thread.  If a task shares memory without them, or the table without memory, the connection
 * of a number is no longer known.  Then every call passes through for good, here and in
 * children of fork.  Options are restored, and held bytes are pushed. */
static void process_steps_aside(void) {
    bool left = false;
    if (!ours())
        return;
    hold_end_turn(PUSH_PROCESS);
    if (!config()->no_syscalls) {
        config_kill(); /* first: other threads begin no hold after the sweep */
        process_leaves_nothing();
        sweep(PUSH_PROCESS);
        ticker_stop();
        left = ticker_has_left();
    }
    if (left) { /* the kernel had no room: bytes would be lost */
        process_goes_on();
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
    return ours() && !only_passes();
}

bool process_may_read(const void *start, size_t bytes) {
    return may_ask() ? readable(start, bytes) : surely_readable(start, bytes);
}

/* The window's thread has ended. */
void process_unshares_table(void) {
    if (ours() && (only_passes() || ticker_tasks() != 1))
        process_steps_aside();
}

uint32_t process_clones(unsigned long flags) {
    bool memory = flags & CLONE_VM, table = flags & CLONE_FILES;
    bool thread = (flags & CLONE_THREAD) && table && (flags & CLONE_SETTLS);
    if (!memory && !table)
        return process_forks();
    if (thread)
        process_gets_threads();
    else
        process_steps_aside();
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
