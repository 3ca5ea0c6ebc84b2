/* SPDX-License-Identifier: MIT
 *
 * The life of a process: the state of a forked child, and the waits of an exit.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"
#include "coalesce_buffer.h"
#include "turn.h"
#include "process.h"
#include "reentry.h"
#include "window.h"
#include "whole.h"

/* One thread's exec stops holds in the parent.  A child that another thread forks meanwhile may hold. */
Test(process, a_child_of_a_process_in_exec_holds) {
    whole_start_in(MODE_CORK);
    whole_warm(5);
    process_is_replaced("/nowhere/to/be/found");
    ASSERT(hold_refused);
    uint32_t barred = process_forks();
    pid_t child = fork();
    if (child == 0) {
        process_forked(0, 0);
        window_now = WINDOW_RUNS;
        fake_log();
        bool holds = whole_write(5, "abc") == 3 && strcmp(fake_log(), "SEND_MORE(5,abc)") == 0;
        _exit(!hold_refused && holds ? 0 : 1);
    }
    int status;
    process_forked(child, barred);
    EXPECT_INT("the child", waitpid(child, &status, 0), child);
    EXPECT_INT("it holds", status, 0);
    EXPECT(hold_refused);
    exec_failed(-1);
    EXPECT(!hold_refused);
}

/* The peer drains its side a while after the exit has begun. */
Test(process, an_exit_waits_for_room) {
    enum { TRIES = 40 }; /* more than the end of a turn makes */
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake.send_count = 0;
    for (int i = 0; i < TRIES; i++)
        fake.sends[i] = -EAGAIN;
    uint64_t begun = clock_now();
    process_ends();
    EXPECT(clock_now() - begun >= TRIES / 2 * UINT64_C(1000000)); /* a millisecond between most of them */
    EXPECT_INT("nothing is left", buffer_length(c), 0);
    EXPECT_TEXT("it arrived", fake.wire_buffer, "abc");
    EXPECT_INT("and no try more", fake.send_count, TRIES + 1);
}

static ssize_t never_any_room(int fd, const struct msghdr *message, int flags) {
    (void)fd, (void)message, (void)flags;
    usleep(20000);
    return -EAGAIN;
}

/* It made a thousand tries, each as long as all connections take: here for more than 20 seconds. */
Test(process, an_exit_waits_for_a_second_and_no_longer) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    const struct kernel_ops *before = kernel;
    struct kernel_ops full = *kernel;
    full.send = never_any_room;
    kernel = &full;
    uint64_t begun = clock_now();
    process_ends();
    uint64_t took = clock_now() - begun;
    kernel = before;
    EXPECT(took >= UINT64_C(1000000000) && took < UINT64_C(5000000000));
}

/* The thread that drains the buffer is stopped behind its system call: its bytes went twice. */
Test(process, what_a_stopped_thread_has_sent_is_not_sent_again) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    buffer_begins_to_send(c->buffer, 100, true);
    STORE(&c->draining, true);
    fake.tcp_info.bytes_sent = 103;
    reentry_last(c);
    EXPECT_TEXT("all were taken", fake.wire_buffer, "");
    STORE(&c->draining, false); /* the holder of the lock, before its system call */
    fake.tcp_info.bytes_sent = 100;
    EXPECT(reentry_last(c));
    EXPECT_TEXT("sent for it", fake.wire_buffer, "abc");
    c->buffer->in_flight = false;
    buffer_flush(c, 0);
    EXPECT_TEXT("and not again, if it goes on", fake.wire_buffer, "abc");
    EXPECT(c->buffer == NULL);
}

/* ---- filters, other programs ------------------------------------------------------ */

static struct conn *waited_for;
static volatile sig_atomic_t in_child;
static volatile pid_t forked;

static void forks(int number) {
    (void)number;
    forked = fork();
    in_child = forked == 0;
}

static void *holds_a_while(void *told) {
    ASSERT(conn_lock(waited_for));
    *(volatile bool *)told = true;
    while (!forked)
        usleep(1000);
    usleep(50000);
    conn_unlock(waited_for);
    return NULL;
}

/* The child returns from the handler into the wait for a lock.  It has no thread that holds it. */
Test(process, a_handler_forks_beneath_the_wait_for_a_lock, .timeout = 20) {
    whole_start_in(MODE_CORK);
    waited_for = whole_connected(5);
    struct sigaction action = {.sa_handler = forks, .sa_flags = SA_RESTART};
    ASSERT(sigaction(SIGALRM, &action, NULL) == 0);
    volatile bool held = false;
    pthread_t holder;
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL); /* the holder never takes it */
    ASSERT(pthread_create(&holder, NULL, holds_a_while, (void *)(uintptr_t)&held) == 0);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    while (!held)
        usleep(1000);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 20000}}, NULL);
    ASSERT(conn_lock(waited_for));
    if (in_child)
        _exit(waited_for->lock >> 18 == fork_generation ? 7 : 8);
    conn_unlock(waited_for);
    pthread_join(holder, NULL);
    int status = 0;
    for (int i = 0; i < 5000 && waitpid(forked, &status, WNOHANG) == 0; i++)
        usleep(1000);
    EXPECT_INT("the child had the lock", WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
    if (status == 0)
        kill(forked, SIGKILL);
}

/* Before a seccomp filter everything leaves, and from then on no call is our own; where the
 * filter is refused after all, the mode is as before. */
Test(process, a_filter_ends_all_calls_of_ours) {
    for (int installed = 0; installed < 2; installed++) {
        whole_start_in(MODE_CORK);
        struct conn *c = whole_connected(5);
        whole_write(5, "abc");
        ASSERT(c->held);
        window_now = WINDOW_NONE; /* there is no thread to be joined */
        process_filters(false);
        EXPECT(!c->held && config()->no_syscalls && config()->mode == MODE_OFF);
        EXPECT_INT("the clock goes on", clock_stopped, 0);
        process_filtered(installed);
        EXPECT_INT("mode", config()->mode, installed ? MODE_OFF : MODE_CORK);
        EXPECT_INT("no_syscalls", config()->no_syscalls, installed);
        process_filtered(false); /* of another thread, which has begun none */
        EXPECT_INT("mode", config()->mode, installed ? MODE_OFF : MODE_CORK);
        EXPECT_INT("depth", self.depth, 0);
        if (!installed) {
            shim_closing(5);
            continue;
        }
        fake_log();
        whole_write(5, "head");
        whole_write(5, "body");
        EXPECT_TEXT("nothing but its own", fake_log(), "WRITE(5,head) WRITE(5,body)");
    }
}

/* Syscall User Dispatch takes the calls of the library only where its code is outside the range. */
Test(process, a_dispatch_ends_our_calls_only_if_it_takes_them) {
    extern const char __ehdr_start[], etext[];
    const unsigned long first = (unsigned long)__ehdr_start, end = (unsigned long)etext;
    const struct {
        const char *name;
        unsigned long start, bytes;
        bool ends;
    } rows[] = {
        {"all", 0, ~0UL, false},
        {"ours", first, end - first, false},
        {"one byte less", first, end - first - 1, true},
        {"from the second byte", first + 1, ~0UL - first - 1, true},
        {"what lies behind", end, 4096, true},
        {"what lies before", 4096, first - 4096, true},
        {"none", 0, 0, true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        whole_start_in(MODE_CORK);
        window_now = WINDOW_NONE;
        process_dispatches(rows[i].start, rows[i].bytes);
        EXPECT_INT(rows[i].name, config()->no_syscalls, rows[i].ends);
        process_filtered(true);
        config_switch(MODE_CORK, false);
    }
}

/* Where a read of the clock is a system call, neither way is left once a filter is there as well. */
Test(process, a_filter_stops_a_clock_that_is_a_call) {
    for (int counter_first = 0; counter_first < 2; counter_first++) {
        whole_start_in(MODE_AUTO);
        window_now = WINDOW_NONE;
        clock_start();
        if (counter_first)
            process_loses_counter();
        EXPECT_INT("it runs", clock_stopped, 0);
        process_filters(false);
        if (!counter_first)
            process_loses_counter();
        EXPECT(clock_stopped != 0);
        process_filtered(true);
        clock_stopped = 0;
    }
}

Test(process, the_strict_mode_stops_the_clock) {
    whole_start_in(MODE_AUTO);
    window_now = WINDOW_NONE;
    process_filters(true);
    EXPECT(clock_stopped != 0);
    process_filtered(false);
    EXPECT_INT("it was refused", clock_stopped, 0);
}

/* The next program, and the receiver of a passed copy, must not take our option for its own wish. */
static const struct {
    const char *name;
    bool here, untracked_io, app;
    const char *log;
} programs[] = {
    {"a child's", false, false, false, "nodelay(5,0)"},
    {"ours", true, false, false, "flags(5) nodelay(5,0)"},
    {"a child's, and writes that we do not see", false, true, false, ""},
    {"it set it itself", false, false, true, ""},
};

Test(process, programs_get_the_applications_option) {
    EACH_ROW(row, programs) {
        whole_start_in(MODE_NODELAY);
        struct conn *c = whole_connected(5);
        whole_write(5, "head");
        whole_write(5, "body");
        ASSERT(c->policy.nodelay);
        c->policy.untracked_io = row->untracked_io;
        c->policy.app_nodelay = row->app;
        hold_end_turn(PUSH_WAIT);
        fake_log();
        if (row->here)
            process_is_replaced(NULL);
        else
            process_runs_program();
        EXPECT_TEXT(row->name, fake_log(), row->log);
        exec_failed(-1);
        shim_closing(5);
    }
}

Test(process, before_a_fork_all_that_is_buffered_leaves) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    self.turn = NULL; /* another thread's */
    uint32_t epoch_before = nodelay_epoch;
    uint8_t forks = forks_made;
    process_forks();
    EXPECT_INT("nothing is left", buffer_length(c), 0);
    EXPECT(c->policy.never_buffer);
    EXPECT_INT("it may set our options back", nodelay_epoch, epoch_before + 1);
    EXPECT_INT("counted", forks_made, (uint8_t)(forks + 1));
}

/* A vfork child runs on this thread's memory, and touches nothing of ours. */
Test(process, in_a_vfork_child_nothing_is_touched) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    errno = 4711;
    EXPECT(unstall_vfork_begins() != NULL);
    EXPECT_INT("errno", errno, 4711);
    EXPECT(!c->held && self.vforked);
    EXPECT(unstall_vfork_begins() == NULL);
    fake_log();
    whole_write(5, "head");
    whole_write(5, "body");
    EXPECT_TEXT("its writes pass", fake_log(), "WRITE(5,head) WRITE(5,body)");
    unstall_vfork_returned();
    EXPECT(!self.vforked);
}

Test(process, a_threads_end_ends_its_turn) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    process_thread_ends();
    EXPECT(!c->held && self.turn == NULL);
}

/* A handler that interrupted us ends the process: buffered bytes leave all the same. */
Test(process, an_end_within_our_own_section) {
    whole_start_in(MODE_COALESCE);
    whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    self.depth = 1;
    in_handler();
    process_ends();
    EXPECT_TEXT("wire", fake.wire_buffer, "abc");
    EXPECT_INT("depth", self.depth, 0);
}

/* At the end an inherited connection gets its first values back, for the other processes that have it. */
static const struct {
    const char *name;
    enum conn_origin origin;
    bool shared, nodelay_uncertain, back;
} inheritances[] = {
    {"inherited", ORIGIN_FOREIGN, false, false, true},
    {"our own", ORIGIN_SOCKET, false, false, false},
    {"of the process that forked us", ORIGIN_FOREIGN, true, false, false},
    {"a child of ours may write on", ORIGIN_FOREIGN, false, true, false},
};

Test(process, an_inherited_connection_goes_back_at_the_end) {
    EACH_ROW(row, inheritances) {
        whole_start_in(MODE_NODELAY);
        struct conn *c = whole_connected(5);
        whole_write(5, "head");
        whole_write(5, "body");
        ASSERT(c->policy.nodelay);
        c->origin = (uint8_t)row->origin;
        c->shared = row->shared;
        c->policy.nodelay_uncertain = row->nodelay_uncertain;
        hold_end_turn(PUSH_WAIT);
        fake_log();
        process_ends();
        EXPECT_INT(row->name, strstr(fake_log(), "nodelay(5,0)") != NULL, row->back);
        hold_refused = false;
        shim_closing(5);
    }
}

/* ---- tasks that are no threads -------------------------------------------------------- */

static void passes_for_good(const char *name) {
    EXPECT_INT(name, gate_enter(), false);
    fake_log();
    whole_write(5, "head");
    whole_write(5, "body");
    EXPECT_TEXT(name, fake_log(), "WRITE(5,head) WRITE(5,body)");
}

static void clones_while_holding(unsigned long flags) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    ASSERT(c->held);
    window_now = WINDOW_NONE; /* there is no thread to be joined */
    process_clones(flags);
    EXPECT(!c->held && self.turn == NULL);
}

/* A task with our memory and no descriptors of its own kind, or the reverse: every call passes, in
 * children of fork, too. */
Test(process, a_task_that_shares_memory_alone) {
    clones_while_holding(CLONE_VM);
    passes_for_good("in the parent");
    pid_t child = fork();
    if (child == 0) {
        process_forked(0, 0);
        _exit(gate_enter());
    }
    int status;
    EXPECT_INT("the child", waitpid(child, &status, 0), child);
    EXPECT_INT("its gate is shut", status, 0);
}

Test(process, a_task_that_shares_descriptors_alone) {
    clones_while_holding(CLONE_FILES);
    passes_for_good("descriptors");
}

/* Bytes for which the kernel has no room would be lost: the library stays for them. */
Test(process, a_task_that_shares_memory_while_there_is_no_room) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    for (unsigned i = fake.send_count; i < FAKE_SENDS; i++)
        fake.sends[i] = -EAGAIN;
    window_now = WINDOW_NONE;
    process_clones(CLONE_VM);
    EXPECT_INT("still there", buffer_length(c), 3);
    EXPECT(gate_enter());
}

/* The child of a fork has a single task: the table that becomes its own is the one that it had. */
Test(process, a_single_task_unshares_its_table) {
    whole_start_in(MODE_CORK);
    whole_connected(5);
    pid_t child = fork();
    if (child == 0) {
        process_forked(0, 0);
        process_unshares_table();
        _exit(gate_enter() ? 0 : 1);
    }
    int status;
    EXPECT_INT("the child", waitpid(child, &status, 0), child);
    EXPECT_INT("its gate is open", status, 0);
}

Test(process, a_clone_that_is_a_fork_or_a_thread) {
    uint32_t epoch_before = nodelay_epoch;
    clones_while_holding(0);
    EXPECT(gate_enter());
    EXPECT_INT("a fork", nodelay_epoch, epoch_before + 1);
    process_clones(CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SETTLS);
    EXPECT(gate_enter());
    EXPECT_INT("a thread", nodelay_epoch, epoch_before + 1);
    process_clones(CLONE_VM | CLONE_FILES | CLONE_THREAD); /* on thread-locals of another */
    passes_for_good("no thread of its own");
}

/* A handler that interrupted us tries to run a program that does not exist: it will return. */
Test(process, a_handlers_failed_exec_changes_nothing) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    whole_write(5, "abc");
    fake_log();
    self.depth = 1;
    in_handler();
    process_is_replaced("/none/such");
    EXPECT_INT("still there", buffer_length(c), 3);
    EXPECT_TEXT("nothing is asked", fake_log(), "");
    process_is_replaced("/bin/sh");
    EXPECT_INT("now it leaves", buffer_length(c), 0);
}

/* The kernel has refused a task of the program: a thread of ours counts, too. */
Test(process, a_thread_of_ours_makes_room) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    EXPECT(!window_stop_for_task_limit() && c->held); /* there was none yet */
    window_process = getpid();
    window_now = WINDOW_NONE;
    EXPECT(window_stop_for_task_limit() && !c->held);
    gate_shuts_for_good();
    EXPECT(!window_stop_for_task_limit());
}
