/* SPDX-License-Identifier: MIT
 *
 * New programs, ends, and tasks of unusual kinds: each entry of src/preload/process, called in each
 * circumstance in which it must act, and in each in which it must not.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "coalesce_buffer.h"
#include "turn.h"
#include "process.h"
#include "readable.h"
#include "real.h"
#include "statistics.h"
#include "window.h"

/* A connection with three buffered bytes, in a thread that a handler has interrupted so many locks deep. */
static struct conn *buffered(uint16_t depth) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake_log();
    self.depth = depth;
    in_handler();
    return c;
}

static void is_done(void) {
    self.depth = 0;
    exec_failed(-1);
    shim_closing(5);
}

/* ---- which calls will replace the image --------------------------------- */

static char here[] = "/tmp/unit-XXXXXX";

static void in_a_folder_with_a_program(void) {
    cr_assert(mkdtemp(here) && chdir(here) == 0);
    cr_assert(close(open("unit-program", O_CREAT | O_WRONLY | O_CLOEXEC, 0700)) == 0);
    cr_assert(close(open("unit-text", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
}

static void away_with_it(void) {
    unlink("unit-program");
    unlink("unit-text");
    cr_assert(chdir("/") == 0 && rmdir(here) == 0);
}

/* As execvp(3) searches. */
static const struct {
    const char *name, *path, *file;
    bool runs;
} searches[] = {
    {"in one directory", "/bin", "sh", true},
    {"in the last", "/none:/nor/here:/bin", "sh", true},
    {"in the first", "/bin:/none", "sh", true},
    {"in none", "/none:/tmp", "sh", false},
    {"no PATH", NULL, "sh", true},
    {"no PATH, no such program", NULL, "unit-program", false},
    {"by its path", "/none", "/bin/sh", true},
    {"by its path, no such program", "/bin", "/none/sh", false},
    {"by a path from here", "/none", "./unit-program", true},
    {"an empty list is here", "", "unit-program", true},
    {"an empty list is here alone", "", "sh", false},
    {"an empty item at the begin", ":/none", "unit-program", true},
    {"... in the middle", "/none::/nor/here", "unit-program", true},
    {"... at the end", "/none:", "unit-program", true},
    {"no empty item", "/none:/nor/here", "unit-program", false},
    {"not executable", "", "unit-text", false},
};

Test(programs, a_handlers_search, .init = in_a_folder_with_a_program, .fini = away_with_it) {
    EACH_ROW(row, searches) {
        const struct conn *c = buffered(1);
        if (row->path)
            setenv("PATH", row->path, 1);
        else
            unsetenv("PATH");
        process_is_replaced_by(row->file);
        EXPECT_INT(row->name, buffer_length(c) == 0, row->runs);
        EXPECT_INT(row->name, self.depth, !row->runs);
        EXPECT_INT(row->name, hold_refused, false);
        is_done();
    }
}

/* In normal code everything leaves first, whether or not the program exists: the call may fail for other
 * reasons, too, and then goes on by exec_failed(). */
static void by_name(void) {
    process_is_replaced_by("no-such-program");
}
static void by_path(void) {
    process_is_replaced("/no/such/program");
}
static void at_a_folder(void) {
    process_is_replaced_at(AT_FDCWD, "no-such-program");
}

Test(programs, outside_of_handlers_all_leaves_first) {
    static void (*const calls[])(void) = {by_name, by_path, at_a_folder};
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        const struct conn *c = buffered(0);
        calls[i]();
        EXPECT(buffer_length(c) == 0 && hold_refused);
        EXPECT_INT("the result goes on", exec_failed(-1), -1);
        EXPECT(!hold_refused);
        is_done();
    }
}

static const struct {
    const char *name, *path;
    int fd, fd_flags;
    bool runs;
} at[] = {
    {"a path", "/bin/sh", -1, 0, true},
    {"no such path", "/none", AT_FDCWD, 0, false},
    {"a path from here", "unit-program", AT_FDCWD, 0, true},
    {"from nowhere", "unit-program", -1, 0, false},
    {"a descriptor", NULL, 7, 0, true},
    {"... that is none", NULL, 7, -EBADF, false},
};

Test(programs, a_handlers_call_by_descriptor, .init = in_a_folder_with_a_program, .fini = away_with_it) {
    EACH_ROW(row, at) {
        const struct conn *c = buffered(1);
        fake.fd_flags = row->fd_flags;
        process_is_replaced_at(row->fd, row->path);
        EXPECT_INT(row->name, buffer_length(c) == 0, row->runs);
        EXPECT_INT(row->name, self.depth, !row->runs);
        is_done();
    }
}

/* Code that must not touch our state though it ends or replaces the process. */
Test(programs, of_whom_nothing_leaves) {
    static const volatile uint8_t shut = GATE_SHUT;
    const struct conn *c = buffered(1);
    self.vforked = true;
    process_is_replaced("/bin/sh");
    process_ends();
    EXPECT_INT("the child of a vfork in a handler", buffer_length(c), 3);
    self.vforked = false;
    const volatile uint8_t *open = gate;
    gate = &shut;
    process_is_replaced("/bin/sh");
    process_ends();
    gate = open;
    EXPECT_INT("a child that a handler forked", buffer_length(c), 3);
    self.depth = 0;
    self.vforked = true;
    process_is_replaced("/bin/sh");
    process_ends();
    self.vforked = false;
    EXPECT_INT("the child of a vfork", buffer_length(c), 3);
    EXPECT_TEXT("wire", fake.wire_buffer, "");
    is_done();
}

/* ---- options at the start of the next program ---------------------------------------- */

static const struct {
    const char *name;
    bool here;
    uint8_t refs;
    int fd_flags;
    bool untracked, untracked_at_fork, no_syscalls;
    const char *log;
} next[] = {
    {"it survives", true, 1, 0, false, false, false, "flags(5) nodelay(5,0)"},
    {"it is closed at exec", true, 1, FD_CLOEXEC, false, false, false, "flags(5)"},
    {"one of two may survive", true, 2, FD_CLOEXEC, false, false, false, "nodelay(5,0)"},
    {"it is closed already", true, 1, -EBADF, false, false, false, "flags(5)"},
    {"untracked: the next program has it alone", true, 1, 0, true, false, false, "flags(5) nodelay(5,0)"},
    {"... or beside our parent", true, 1, 0, true, true, false, ""},
    {"a child's", false, 1, FD_CLOEXEC, false, false, false, "nodelay(5,0)"},
    {"a child's, untracked", false, 1, 0, true, false, false, ""},
    {"under a filter", true, 1, 0, false, false, true, ""},
    {"under a filter, a child's", false, 1, 0, false, false, true, ""},
};

Test(programs, options_of_the_next_program) {
    EACH_ROW(row, next) {
        whole_start_in(MODE_NODELAY);
        struct conn *c = whole_connected(5);
        whole_write(5, "head");
        whole_write(5, "body");
        ASSERT(c->policy.nodelay);
        hold_end_turn(PUSH_WAIT);
        if (row->refs == 2)
            shim_duplicated(5, 6);
        c->policy.untracked_io = row->untracked;
        c->untracked_at_fork = row->untracked_at_fork;
        if (row->no_syscalls)
            config_switch(MODE_NODELAY, true);
        fake.fd_flags = row->fd_flags;
        fake_log();
        if (row->here)
            process_is_replaced(NULL);
        else
            process_runs_program();
        EXPECT_TEXT(row->name, fake_log(), row->log);
        EXPECT_INT(row->name, c->policy.nodelay_uncertain, !row->here);
        exec_failed(-1);
        shim_closing(5);
        shim_closing(6);
    }
}

Test(programs, the_applications_own_option_is_never_uncertain) {
    whole_start_in(MODE_NODELAY);
    struct conn *c = whole_connected(5);
    c->policy.app_nodelay = c->policy.nodelay = true;
    process_runs_program();
    EXPECT(!c->policy.nodelay_uncertain);
    EXPECT_TEXT("nothing to set", fake_log(), "");
}

/* ---- the report --------------------------------------------------------- */

static char report[64];

static bool is_reported(void) {
    static char text[4096];
    bool there = unit_read(report, text, sizeof(text)) && strstr(text, "unstall report");
    unlink(report);
    return there;
}

static void start_with_report(void) {
    static char setting[96];
    snprintf(report, sizeof(report), "/dev/shm/unit-report-%d", getpid());
    snprintf(setting, sizeof(setting), "UNSTALL_REPORT=%s", report);
    whole_start((const char *const[]){"UNSTALL_MODE=nodelay", setting, NULL});
    unlink(report);
}

/* The runner's own exit writes none. */
static void end_of_report(void) {
    whole_start_in(MODE_OFF);
    unlink(report);
}

/* A search of PATH tries folders that lack the program: no report for each. */
Test(programs, a_report_where_the_program_exists, .fini = end_of_report) {
    start_with_report();
    process_is_replaced("/none/sh");
    EXPECT(!is_reported());
    process_is_replaced("/bin/sh");
    EXPECT(is_reported());
    process_is_replaced(NULL);
    EXPECT(is_reported());
    exec_failed(-1);
}

Test(programs, the_last_report_is_one, .fini = end_of_report) {
    start_with_report();
    process_ends();
    EXPECT(is_reported());
    process_ends();
    EXPECT(!is_reported());
}

Test(programs, a_child_reports_for_itself, .fini = end_of_report) {
    start_with_report();
    process_ends();
    EXPECT(is_reported());
    lock_forked();
    process_ends();
    EXPECT(is_reported());
}

/* Without a report the counts leave at once, and the file says that the process may have ended. */
Test(programs, statistics_of_a_process_that_is_replaced, .fini = statistics_end) {
    statistics_start("nodelay", NULL, NULL);
    whole_connected(5);
    whole_write(5, "head");
    EXPECT_INT("not yet", counted(1, COUNT_WRITES), 0);
    process_is_replaced("/none/sh");
    EXPECT_INT("moved", counted(1, COUNT_WRITES), 1);
    EXPECT_INT("ended", stats_file_mapped->header.ended_monotonic_ns, time_ns);
    exec_failed(-1);
    EXPECT_INT("it goes on", stats_file_mapped->header.ended_monotonic_ns, 0);
    EXPECT_INT("the connection, too", counted(1, COUNT_CONNECTIONS_ENDED), 0);
    process_ends();
    EXPECT_INT("now it has ended", counted(1, COUNT_CONNECTIONS_ENDED), 1);
}

/* ---- the end ------------------------------------------------------------ */

static const struct {
    const char *name;
    enum conn_origin origin;
    bool shared, uncertain, fork_since, no_syscalls, back;
} ends[] = {
    {"inherited", ORIGIN_FOREIGN, false, false, false, false, true},
    {"accepted", ORIGIN_ACCEPTED, false, false, false, false, false},
    {"our parent's", ORIGIN_FOREIGN, true, false, false, false, false},
    {"a child may write on", ORIGIN_FOREIGN, false, true, false, false, false},
    {"a child may write on that it has not seen", ORIGIN_FOREIGN, false, false, true, false, false},
    {"under a filter", ORIGIN_FOREIGN, false, false, false, true, false},
};

Test(programs, what_goes_back_at_the_end) {
    EACH_ROW(row, ends) {
        whole_start_in(MODE_NODELAY);
        struct conn *c = whole_connected(5);
        whole_write(5, "head");
        whole_write(5, "body");
        hold_end_turn(PUSH_WAIT);
        c->origin = (uint8_t)row->origin;
        c->shared = row->shared;
        c->policy.nodelay_uncertain = row->uncertain;
        if (row->no_syscalls)
            config_switch(MODE_NODELAY, true);
        c->epoch = config()->epoch; /* no sweep has work */
        nodelay_epoch += row->fork_since;
        fake_log();
        process_ends();
        EXPECT_TEXT(row->name, fake_log(), row->back ? "nodelay(5,0)" : "");
        is_done();
    }
}

static ssize_t no_room(int fd, const struct msghdr *message, int flags) {
    (void)fd, (void)message, (void)flags;
    return -EAGAIN;
}

/* The peer never reads: no longer than a second, in which the process could have done nothing else. */
Test(programs, an_end_waits_a_second_at_most, .timeout = 120) {
    struct conn *c = buffered(0);
    struct kernel_ops ops = *kernel;
    const struct kernel_ops *before = kernel;
    ops.send = no_room;
    kernel = &ops;
    uint64_t begun = clock_now();
    process_ends();
    kernel = before;
    uint64_t ms = (clock_now() - begun) / 1000000;
    cr_expect(ms >= 1000, "after %d ms", (int)ms);
    EXPECT_INT("still there", buffer_length(c), 3);
}

/* Not the last connection of the pool is the one with bytes. */
Test(programs, an_end_waits_for_each_connection) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    whole_connected(6);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake.send_count = 0;
    for (int i = 0; i < 30; i++)
        fake.sends[i] = -EAGAIN;
    process_ends();
    EXPECT_INT("sent", buffer_length(c), 0);
    EXPECT_INT("after so many tries", fake.send_count, 31);
}

/* ---- threads and vfork -------------------------------------------------- */

Test(programs, a_thread_ends_by_a_system_call) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    window_now = WINDOW_NONE;
    process_task_exits();
    EXPECT(!c->held && !self.turn);
    window_now = WINDOW_RUNS;
    process_thread_ends(); /* from now on the end of each thread ends the window's */
    EXPECT_INT("state", window_state(), WINDOW_NONE);
}

Test(programs, a_handler_ends_the_thread) {
    struct conn *c = buffered(0);
    ASSERT(conn_lock(c));
    process_thread_ends();
    EXPECT_INT("depth", self.depth, 0);
    EXPECT(conn_trylock(c)); /* its lock is free */
    conn_unlock(c);
    EXPECT(!self.turn && buffer_length(c) == 0);
    self.vforked = true;
    process_thread_ends();
    process_task_exits();
    self.vforked = false;
}

Test(programs, a_vfork_in_a_handler) {
    const struct conn *c = buffered(1);
    EXPECT(unstall_vfork_begins() == (void *)(uintptr_t)REAL(vfork));
    EXPECT(self.vforked);
    EXPECT_INT("nothing leaves", buffer_length(c), 3);
    EXPECT(unstall_vfork_next() == (void *)(uintptr_t)REAL(vfork));
    unstall_vfork_returned();
    EXPECT(!self.vforked && self.depth == 1);
    is_done();
}

Test(programs, a_filter_is_met_once) {
    whole_start_in(MODE_CORK);
    window_now = WINDOW_NONE;
    self.vforked = true;
    process_filters(true);
    self.vforked = false;
    EXPECT(!config()->no_syscalls && !clock_stopped);
    process_filters(true);
    EXPECT(config()->no_syscalls && clock_stopped);
    uint32_t epoch = config()->epoch;
    process_filtered(true);
    process_filters(false);
    process_filtered(false);
    EXPECT_INT("the second changes nothing", config()->epoch, epoch);
    EXPECT(config()->no_syscalls && clock_stopped);
}

/* A refusal that a child of vfork sees is the parent's to note. */
Test(programs, a_filter_that_is_refused_within_a_handler) {
    whole_start_in(MODE_CORK);
    window_now = WINDOW_NONE;
    process_filters(false);
    self.depth = 1;
    in_handler();
    process_filtered(false);
    self.depth = 0;
    EXPECT(config()->no_syscalls);
}

Test(programs, other_threads_holds_leave_before_a_filter) {
    for (int coalesce = 0; coalesce < 2; coalesce++) {
        whole_start_in(coalesce ? MODE_COALESCE : MODE_CORK);
        struct conn *c = whole_warm(5);
        whole_write(5, "abc");
        ASSERT(c->held || buffer_length(c));
        self.turn = NULL; /* another thread's */
        window_now = WINDOW_NONE;
        process_filters(false);
        EXPECT(!c->held && buffer_length(c) == 0);
        process_filtered(false);
        shim_closing(5);
    }
}

/* ---- forks and clones --------------------------------------------------- */

static const struct {
    const char *name;
    bool acted, untracked, no_syscalls, back;
} forks[] = {
    {"our option", true, false, false, true},
    {"nothing was ever set", false, false, false, false},
    {"untracked writes still need it", true, true, false, false},
    {"under a filter", true, false, true, false},
};

Test(programs, options_before_a_fork) {
    EACH_ROW(row, forks) {
        whole_start_in(MODE_NODELAY);
        struct conn *c = whole_connected(5);
        c->policy.nodelay = true; /* ours */
        c->policy.untracked_io = row->untracked;
        hold_acted = row->acted;
        if (row->no_syscalls)
            config_switch(MODE_NODELAY, true);
        fake_log();
        process_forks();
        EXPECT_TEXT(row->name, fake_log(), row->back ? "nodelay(5,0)" : "");
        EXPECT_INT(row->name, c->policy.nodelay, !row->back);
        shim_closing(5);
    }
}

/* Without a window's thread a hold is for a program of one thread. */
Test(programs, the_first_thread_of_the_program) {
    static const struct {
        const char *name;
        enum window_state state, then;
        bool ends;
    } rows[] = {{"no thread of ours", WINDOW_WITHOUT, WINDOW_NONE, true},
                {"none ever", WINDOW_NEVER, WINDOW_NEVER, true},
                {"one of ours", WINDOW_RUNS, WINDOW_RUNS, false}};
    EACH_ROW(row, rows) {
        whole_start_in(MODE_CORK);
        struct conn *c = whole_connected(5);
        whole_write(5, "abc");
        ASSERT(c->held);
        window_now = row->state;
        process_clones(CLONE_VM | CLONE_FILES | CLONE_THREAD | CLONE_SETTLS);
        EXPECT_INT(row->name, !c->held, row->ends);
        EXPECT_INT(row->name, window_state(), row->then);
        window_now = WINDOW_RUNS;
        hold_end_turn(PUSH_WAIT);
        shim_closing(5);
    }
}

Test(programs, a_clone_in_a_handler_changes_nothing) {
    static const unsigned long flags[] = {0, CLONE_VM, CLONE_FILES, CLONE_VM | CLONE_FILES};
    uint32_t before = nodelay_epoch;
    const struct conn *c = buffered(1);
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        process_clones(flags[i]);
    window_restart();
    process_runs_program();
    window_process = getpid();
    EXPECT(!window_stop_for_task_limit());
    EXPECT_INT("buffered", buffer_length(c), 3);
    self.depth = 0;
    EXPECT(gate_enter() && !config()->killed && nodelay_epoch == before);
    is_done();
}

/* Under a filter the library makes no call, so it can only leave. */
Test(programs, a_strange_task_under_a_filter) {
    whole_start_in(MODE_CORK);
    whole_connected(5);
    config_switch(MODE_OFF, true);
    fake_log();
    process_clones(CLONE_VM);
    EXPECT(!gate_enter() && !config()->killed);
    EXPECT_TEXT("nothing", fake_log(), "");
}

/* The flags of clone3(2) are in memory that may be bad.  In off, and under a filter, only memory that is
 * certain without a call is read; what stays unknown is taken for a child that the library does not serve.
 * A call that must fail makes no child: a program that only asks for the call lost the cure. */
enum where { ON_STACK, FAR, UNREADABLE, NOWHERE };
enum meaning { NOTHING, A_FORK, ASIDE };

static const struct {
    const char *name, *mode, *more;
    bool filter;
    enum where where;
    uint64_t flags;
    enum meaning meaning;
} clones3[] = {
    {"a fork", "UNSTALL_MODE=cork", NULL, false, ON_STACK, 0, A_FORK},
    {"a fork, far", "UNSTALL_MODE=cork", NULL, false, FAR, 0, A_FORK},
    {"memory, far", "UNSTALL_MODE=cork", NULL, false, FAR, CLONE_VM, ASIDE},
    {"unreadable", "UNSTALL_MODE=cork", NULL, false, UNREADABLE, 0, NOTHING},
    {"NULL", "UNSTALL_MODE=cork", NULL, false, NOWHERE, 0, NOTHING},
    {"far, observed", "UNSTALL_MODE=observe", NULL, false, FAR, 0, A_FORK},
    {"off", "UNSTALL_MODE=off", NULL, false, ON_STACK, 0, A_FORK},
    {"off, memory", "UNSTALL_MODE=off", NULL, false, ON_STACK, CLONE_VM, ASIDE},
    {"off, far", "UNSTALL_MODE=off", NULL, false, FAR, 0, ASIDE},
    {"off, NULL", "UNSTALL_MODE=off", NULL, false, NOWHERE, 0, NOTHING},
    {"off, with live control, far", "UNSTALL_MODE=off", "UNSTALL_STATS=/dev/shm/none", false, FAR, 0, A_FORK},
    {"a filter", "UNSTALL_MODE=cork", NULL, true, ON_STACK, 0, A_FORK},
    {"a filter, far", "UNSTALL_MODE=cork", NULL, true, FAR, 0, ASIDE},
};

static uint64_t *far_away(void) {
    void *far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT(far != MAP_FAILED);
    return far;
}

static enum meaning meaning_in_a_child(size_t row) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        uint64_t flags = clones3[row].flags, *far = NULL;
        whole_start((const char *const[]){clones3[row].mode, clones3[row].more, NULL});
        readable_start();
        window_now = WINDOW_NONE;
        if (clones3[row].filter)
            config_switch(MODE_OFF, true);
        if (clones3[row].where != NOWHERE) {
            far = far_away();
            *far = flags;
        }
        if (clones3[row].where == UNREADABLE)
            mprotect(far, 4096, PROT_NONE);
        uint32_t before = nodelay_epoch;
        process_clones_by(clones3[row].where == ON_STACK ? &flags : far);
        _exit(!gate_enter() ? ASIDE : nodelay_epoch != before ? A_FORK : NOTHING);
    }
    ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return (enum meaning)WEXITSTATUS(status);
}

Test(programs, what_clone3_makes) {
    for (size_t i = 0; i < ARRAY_SIZE(clones3); i++)
        EXPECT_INT(clones3[i].name, meaning_in_a_child(i), clones3[i].meaning);
}

/* A tool may switch the mode of a process with a statistics file, so it must not step aside. */
Test(programs, clone3_in_off_with_a_statistics_file, .fini = statistics_end) {
    statistics_start("off", NULL, NULL);
    whole_connected(5);
    whole_write(5, "head");
    ASSERT(stats_file_now());
    process_clones_by(far_away());
    EXPECT(gate_enter());
}

Test(programs, where_every_call_passes_nothing_is_asked) {
    whole_start_in(MODE_CORK);
    const uint64_t *far = far_away();
    EXPECT(process_may_read(far, sizeof(*far)));
    self.vforked = true;
    EXPECT(!process_may_read(far, sizeof(*far)));
    self.vforked = false;
}

/* Bytes for which there was no room: everything stays, and the thread that will send them is back. */
Test(programs, a_strange_task_while_bytes_are_left, .timeout = 20) {
    struct conn *c = buffered(0);
    struct kernel_ops ops = *kernel;
    ops.send = no_room;
    const struct kernel_ops *before = kernel;
    kernel = &ops;
    window_now = WINDOW_NONE;
    process_clones(CLONE_VM);
    EXPECT_INT("it runs", window_state(), WINDOW_RUNS);
    EXPECT(gate_enter() && config()->killed);
    EXPECT_INT("left", buffer_length(c), 3);
    kernel = before;
    window_stop();
    EXPECT_INT("sent", buffer_length(c), 0);
}

/* A process of one task keeps its table.  A passing change need not last.  Of two tasks one has the old
 * table. */
static const struct {
    const char *name, *mode, *more;
    bool filter, stays;
} tables[] = {
    {"it cures", "UNSTALL_MODE=cork", NULL, false, true},
    {"it cures, under a filter", "UNSTALL_MODE=cork", NULL, true, false},
    {"it only passes", "UNSTALL_MODE=off", NULL, false, false},
    {"it only observes", "UNSTALL_MODE=observe", NULL, false, true},
    {"off, with an experiment", "UNSTALL_MODE=off", "UNSTALL_ARMS=off:50,cork:50", false, true},
    {"off, with live control", "UNSTALL_MODE=off", "UNSTALL_STATS=/dev/shm/none", false, true},
};

static bool stays_in_a_child(size_t row) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        whole_start((const char *const[]){tables[row].mode, tables[row].more, NULL});
        window_now = WINDOW_NONE;
        if (tables[row].filter)
            config_switch(MODE_OFF, true);
        process_unshares_table();
        _exit(gate_enter() ? 3 : 4);
    }
    ASSERT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status) == 3;
}

Test(programs, a_table_of_its_own) {
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        EXPECT_INT(tables[i].name, stays_in_a_child(i), tables[i].stays);
    whole_start_in(MODE_CORK);
    window_now = WINDOW_NONE;
    cr_assert(window_tasks() != 1, "the runner has a thread of its own");
    self.vforked = true;
    process_unshares_table();
    self.vforked = false;
    EXPECT(gate_enter());
    process_unshares_table();
    EXPECT(!gate_enter());
}
