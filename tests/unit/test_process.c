/* SPDX-License-Identifier: MIT
 *
 * What the process does as a whole, where tables of cases decide it (the search of a program, the flags of a
 * clone, the range of a dispatch), and what two threads or a handler do at one moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "coalesce_buffer.h"
#include "process.h"
#include "readable.h"
#include "statistics.h"
#include "turn.h"
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
    process_exec_failed(-1);
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

Test(process, a_handlers_search, .init = in_a_folder_with_a_program, .fini = away_with_it) {
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

/* Code that must not touch our state though it ends or replaces the process. */
Test(process, of_whom_nothing_leaves) {
    static const volatile uint8_t shut = GATE_SHUT;
    const struct conn *c = buffered(1);
    self.vforked = true;
    process_is_replaced_at(AT_FDCWD, "/bin/sh");
    process_ends();
    EXPECT_INT("the child of a vfork in a handler", buffer_length(c), 3);
    self.vforked = false;
    const volatile uint8_t *open = gate;
    gate = &shut;
    process_is_replaced_at(AT_FDCWD, "/bin/sh");
    process_ends();
    gate = open;
    EXPECT_INT("a child that a handler forked", buffer_length(c), 3);
    self.depth = 0;
    self.vforked = true;
    process_is_replaced_at(AT_FDCWD, "/bin/sh");
    process_ends();
    self.vforked = false;
    EXPECT_INT("the child of a vfork", buffer_length(c), 3);
    EXPECT_TEXT("wire", fake.wire_buffer, "");
    is_done();
}

/* One thread's exec stops holds in the parent.  A child that another thread forks meanwhile may hold. */
Test(process, a_child_of_a_process_in_exec_holds) {
    whole_start_in(MODE_CORK);
    whole_warm(5);
    process_is_replaced_at(AT_FDCWD, "/nowhere/to/be/found");
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
    process_exec_failed(-1);
    EXPECT(!hold_refused);
}

/* ---- the end ------------------------------------------------------------ */

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

/* ---- filters and dispatch --------------------------------------------------- */

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

/* ---- forks and clones --------------------------------------------------- */

/* Without a window's thread a hold is for a program of one thread. */
Test(process, the_first_thread_of_the_program) {
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

Test(process, what_clone3_makes) {
    for (size_t i = 0; i < ARRAY_SIZE(clones3); i++)
        EXPECT_INT(clones3[i].name, meaning_in_a_child(i), clones3[i].meaning);
}

/* Bytes for which there was no room: everything stays, and the thread that will send them is back. */
Test(process, a_strange_task_while_bytes_are_left, .timeout = 20) {
    struct conn *c = buffered(0);
    struct kernel_ops ops = *kernel;
    ops.send = never_any_room;
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

Test(process, a_table_of_its_own) {
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

/* ---- changes of rights ------------------------------------------------------- */

/* tests/company/test_confined.py shows the calls that every sandbox makes. */
Test(process, calls_that_change_rights) {
    static const struct {
        const char *name;
        long number;
        unsigned long first;
        bool changes;
    } rows[] = {
        {"a name", SYS_prctl, PR_SET_NAME, false},
        {"a question", SYS_prctl, PR_GET_KEEPCAPS, false},
        {"a default", SYS_keyctl, KEYCTL_SET_REQKEY_KEYRING, true},
        {"an authority", SYS_keyctl, KEYCTL_ASSUME_AUTHORITY, true},
        {"a key", SYS_keyctl, KEYCTL_READ, false},
        {"the option of another call", SYS_getpriority, PR_SET_KEEPCAPS, false},
    };
    whole_start_in(MODE_CORK);
    window_now = WINDOW_NONE;
    EACH_ROW(row, rows) {
        uint32_t barred = rights_change(row->number, row->first);
        EXPECT_INT(row->name, barred != 0, row->changes);
        rights_changed(barred);
    }
}

/* A descriptor table of its own: `off` has no reason to stay. */
Test(process, off_leaves_with_the_table) {
    whole_start_in(MODE_OFF);
    rights_changed(rights_change(SYS_unshare, CLONE_NEWNS));
    EXPECT(gate_enter());
    rights_changed(rights_change(SYS_setns, CLONE_FILES));
    EXPECT(gate_enter());
    rights_change(SYS_unshare, CLONE_FILES);
    EXPECT(!gate_enter());
}
