/* SPDX-License-Identifier: MIT
 *
 * When the library looks for an io_uring of the program: a real ring, with connections of the fake kernel.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shim.h"
#include "statistics.h"
#include "stats_file.h"

TestSuite(rings, .fini = statistics_end, .timeout = 20);

/* As liburing makes one: by an inline system call. */
static void make_ring(void) {
    uint32_t parameters[30] = {0};
    if (syscall(SYS_io_uring_setup, 4, parameters) >= 0)
        return;
    cr_assert(!getenv("UNSTALL_TESTS_MUST_RUN"), "io_uring_setup: %s", strerror(errno));
    cr_skip_test("no io_uring here");
}

/* A connection without a byte that we see, 20 ms before the next event. */
static struct conn *silent(int fd) {
    struct conn *c = whole_connected(fd);
    time_ns += 20 * MS;
    return c;
}

Test(rings, a_silent_connection_makes_us_look_before_the_next_one) {
    statistics_start("auto", NULL, NULL);
    make_ring();
    struct conn *before = silent(5);
    EXPECT(!rings_known && !before->policy.nodelay);
    struct conn *next = whole_connected(6);
    EXPECT(rings_known && before->policy.nodelay && next->policy.nodelay);
}

Test(rings, so_does_its_end) {
    statistics_start("auto", NULL, NULL);
    make_ring();
    silent(5);
    shim_closing(5);
    EXPECT(rings_known);
}

static void writes(struct conn *c) {
    (void)c;
    whole_write(5, "abc");
}

static void reads(struct conn *c) {
    (void)c;
    whole_read(5, 3);
}

static void is_young(struct conn *c) {
    (void)c;
    time_ns -= 10 * MS + 1;
}

static void is_shared(struct conn *c) {
    c->shared = true;
}

static void is_a_listener(struct conn *c) {
    c->listener = true;
}

static void is_not_connected(struct conn *c) {
    c->policy.established = false;
}

static void is_of_before_a_fork(struct conn *c) {
    c->forks--;
}

static void has_passed_bytes(struct conn *c) {
    c->passed = true;
}

static void is_cured(struct conn *c) {
    c->policy.untracked_io = true;
}

static void is_in_off(struct conn *c) {
    (void)c;
    config_switch(MODE_OFF, false);
}

static void is_filtered(struct conn *c) {
    (void)c;
    config_switch(MODE_AUTO, true);
}

static const struct {
    const char *name;
    void (*make)(struct conn *c);
} others[] = {
    {"it writes", writes},
    {"it reads", reads},
    {"it is young", is_young},
    {"it is shared", is_shared},
    {"a listener", is_a_listener},
    {"not connected", is_not_connected},
    {"of before a fork", is_of_before_a_fork},
    {"its bytes passed elsewhere", has_passed_bytes},
    {"cured already", is_cured},
    {"mode off", is_in_off},
    {"no system call may be made", is_filtered},
};

/* Of a child, so that no look has been made. */
static int answer_of(bool (*question)(int), int number) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        statistics_start("auto", NULL, NULL);
        bool answer = question(number);
        statistics_end();
        _exit(answer);
    }
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool makes_us_look(int row) {
    others[row].make(silent(5));
    shim_accepted(9, 6);
    return rings_known;
}

Test(rings, no_other_connection_does) {
    make_ring();
    for (int row = 0; row < (int)ARRAY_SIZE(others); row++)
        EXPECT_INT(others[row].name, answer_of(makes_us_look, row), false);
}

static bool is_found_at(int occasion) {
    for (int i = 0; i < occasion; i++)
        silent(10 + i);
    make_ring();
    whole_connected(40);
    return rings_known;
}

/* A search costs 0.1 ms: the first, second, fourth and eighth occasion have one. */
Test(rings, four_looks) {
    for (int occasion = 1; occasion <= 9; occasion++)
        EXPECT_INT("a look", answer_of(is_found_at, occasion),
                   occasion == 1 || occasion == 2 || occasion == 4 || occasion == 8);
}

/* The connection that comes with a new mode is the first to look. */
Test(rings, a_mode_that_cures_begins_to_look) {
    statistics_start("auto", NULL, NULL);
    make_ring();
    whole_connected(5);
    whole_write(5, "abc");
    silent(6);
    struct stats_control next = {.version = CONTROL_VERSION, .sequence = 2, .mode = MODE_OFF};
    stats_file_mapped->control = next;
    whole_read(5, 3);
    ASSERT(config()->mode == MODE_OFF);
    next.sequence = 4;
    next.mode = MODE_AUTO;
    stats_file_mapped->control = next;
    shim_accepted(9, 7);
    EXPECT(rings_known);
}
