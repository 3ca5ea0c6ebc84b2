/* SPDX-License-Identifier: MIT
 *
 * The control block of the statistics file, as a tool writes it: which values the library adopts, when, and
 * which it refuses.
 */
#include "config.h"
#include "evidence.h"
#include "shim.h"
#include "stats_file.h"
#include "statistics.h"
#include "turn.h"

static struct conn *c;
static char log_path[64];

static void end(void) {
    unlink(log_path);
    statistics_end();
}

TestSuite(live_control, .fini = end, .timeout = 20);

static void start(const char *mode) {
    static char log[96];
    snprintf(log_path, sizeof(log_path), "/dev/shm/unit-log-%d", getpid());
    snprintf(log, sizeof(log), "UNSTALL_LOG=%s", log_path);
    statistics_start(mode, "UNSTALL_WINDOW_US=3000", log);
    c = whole_connected(5);
    whole_write(5, "data");
    whole_read(5, 10);
    fake_log();
}

static const char *warned(void) {
    static char text[2048];
    unit_read(log_path, text, sizeof(text));
    return text;
}

static void put(const struct stats_control *given) {
    struct stats_control next = *given;
    next.version = next.version ? next.version : CONTROL_VERSION;
    next.sequence = stats_file_mapped->control.sequence + 2;
    stats_file_mapped->control = next;
}

static void expect_in_force(const char *what, enum mode mode, unsigned window) {
    EXPECT_INT(what, c->policy.mode, mode);
    EXPECT_INT(what, config()->window_us, window);
    EXPECT_INT(what, stats_file_mapped->header.mode, mode);
    EXPECT_INT(what, stats_file_mapped->header.window_us, window);
    EXPECT_INT(what, stats_file_mapped->header.control_seen, stats_file_mapped->control.sequence);
}

Test(live_control, a_mode_and_a_window_and_back) {
    start("off");
    put(&(struct stats_control){.mode = MODE_NODELAY, .window_us = 700});
    EXPECT_INT("not by itself", c->policy.mode, MODE_OFF);
    whole_write(5, "data");
    expect_in_force("at the next message", MODE_NODELAY, 700);
    put(&(struct stats_control){.mode = MODE_CORK, .window_us = 800});
    whole_read(5, 10);
    expect_in_force("at an input", MODE_CORK, 800);
    put(&(struct stats_control){.mode = CONTROL_KEEP});
    whole_write(5, "data");
    expect_in_force("as at the start", MODE_OFF, 3000);
    put(&(struct stats_control){.mode = MODE_AUTO, .killed = 1});
    whole_read(5, 10);
    whole_write(5, "data");
    expect_in_force("killed", MODE_OFF, 3000);
    EXPECT_TEXT("without a warning", warned(), "");
    EXPECT(!control_changed());
}

/* Held bytes leave where a mode ends, and the application's option is there again. */
Test(live_control, a_mode_that_ends_leaves_nothing) {
    start("cork");
    whole_write(5, "data");
    EXPECT(c->held);
    fake_log();
    put(&(struct stats_control){.mode = MODE_OFF});
    sweep_told(); /* as at a tick */
    EXPECT(!c->held && !c->policy.nodelay);
    EXPECT_INT("pushed for it", c->counts.pushes[PUSH_MODE], 1);
    EXPECT_TEXT("a push, and back", fake_log(), "nodelay(5,1) info(5) nodelay(5,0)");
}

static const struct kernel_ops *kernels;

static int not_before_the_push(int fd, int level, int name, int value) {
    const struct stats_file *s = stats_file_mapped;
    cr_expect(s->header.control_seen != s->control.sequence, "seen before %d was set", value);
    return kernels->set_option(fd, level, name, value);
}

/* A tool waits for `control_seen`: by then all connections are in the mode. */
Test(live_control, it_is_seen_when_it_is_done) {
    start("cork");
    whole_write(5, "data");
    ASSERT(c->held);
    kernels = kernel;
    struct kernel_ops ops = *kernel;
    ops.set_option = not_before_the_push;
    fake_log();
    put(&(struct stats_control){.mode = MODE_OFF});
    kernel = &ops;
    sweep_told();
    kernel = kernels;
    EXPECT(strstr(fake_log(), "nodelay(5,0)"));
    expect_in_force("done", MODE_OFF, 3000);
}

static const struct {
    const char *name;
    struct stats_control block;
} wrong[] = {
    {"a mode", {.mode = STATS_MODES}},
    {"a short window", {.mode = CONTROL_KEEP, .window_us = 499}},
    {"a long window", {.mode = CONTROL_KEEP, .window_us = 100001}},
    {"many arms", {.mode = CONTROL_KEEP, .arm_count = STATS_ARMS + 1}},
    {"an arm without weight", {.mode = CONTROL_KEEP, .arm_count = 1}},
    {"another version", {.version = 9, .mode = CONTROL_KEEP}},
};

Test(live_control, what_is_wrong_is_ignored) {
    start("off");
    EACH_ROW(row, wrong) {
        put(&row->block);
        whole_write(5, "data");
        whole_read(5, 10);
        EXPECT_INT(row->name, config()->mode, MODE_OFF);
        EXPECT_INT(row->name, config()->window_us, 3000);
        EXPECT_INT(row->name, config()->arms.count, 0);
        EXPECT_INT(row->name, stats_file_mapped->header.control_seen, 0);
        EXPECT(!control_changed());
    }
    const char *text = warned(), *first = strstr(text, "the control block of the statistics file holds");
    cr_expect(first && !strstr(first + 8, "control block"), "one warning: %s", unit_plain(text));
    put(&(struct stats_control){.mode = MODE_NODELAY});
    whole_write(5, "data");
    expect_in_force("a good one after that", MODE_NODELAY, 3000);
}

Test(live_control, an_unfinished_write) {
    start("off");
    stats_file_mapped->control.sequence = 3;
    whole_write(5, "data");
    time_ns += 1000 * MS;
    whole_read(5, 10);
    EXPECT_TEXT("a tool may be at it", warned(), "");
    stats_file_mapped->control.sequence = 5; /* another one */
    time_ns += MS;
    whole_write(5, "data");
    time_ns += 1000 * MS;
    whole_read(5, 10);
    EXPECT_TEXT("since then", warned(), "");
    time_ns += MS;
    whole_write(5, "data");
    cr_expect(strstr(warned(), "an unfinished write"), "after more than a second");
    EXPECT_INT("mode", config()->mode, MODE_OFF);
    stats_file_mapped->control.sequence = 6;
    stats_file_mapped->control.mode = MODE_NODELAY;
    whole_read(5, 10);
    whole_write(5, "data");
    expect_in_force("finished by another tool", MODE_NODELAY, 3000);
}

Test(live_control, an_experiment) {
    start("off");
    put(&(struct stats_control){.mode = CONTROL_KEEP,
                               .arm_count = 2,
                               .assignment = ASSIGN_CONNECTION,
                               .seed = 5,
                               .arm_mode = {MODE_NODELAY, MODE_CORK},
                               .arm_weight = {1, 1}});
    whole_write(5, "data");
    unsigned experiment = config()->experiment;
    EXPECT_INT("an older connection has no arm", c->evidence->arm, NO_ARM);
    EXPECT_INT("and the mode of the process", c->policy.mode, MODE_OFF);
    unsigned seen[2] = {0};
    for (int fd = 10; fd < 40; fd++) {
        struct conn *new = whole_connected(fd);
        whole_write(fd, "data");
        ASSERT(new->evidence->arm < 2);
        seen[new->evidence->arm]++;
        EXPECT_INT("by its arm", new->policy.mode, new->evidence->arm ? MODE_CORK : MODE_NODELAY);
        EXPECT_INT("row", stats_file_mapped->row[new->evidence->row].arm, new->evidence->arm);
        EXPECT_INT("record", stats_file_mapped->connection[new->evidence->record].arm, new->evidence->arm);
    }
    EXPECT(seen[0] > 4 && seen[1] > 4);
    fake_log();
    whole_connected(60);
    whole_write(60, "data");
    const char *log = fake_log(), *asked = strstr(log, "peer(60)");
    cr_expect(asked && !strstr(asked + 1, "peer(60)"), "its ends are asked for once: %s", log);
    struct stats_control same = stats_file_mapped->control;
    same.window_us = 900;
    put(&same);
    whole_read(5, 10);
    EXPECT_INT("the same experiment", config()->experiment, experiment);
    EXPECT_INT("with another window", config()->window_us, 900);
    same.seed++;
    put(&same);
    whole_write(5, "data");
    EXPECT_INT("another one", config()->experiment, experiment + 1);
    struct conn *old = whole_connected(10);
    (void)old;
    fake.local_port = 6000;
    struct conn *next = whole_connected(50);
    whole_write(50, "data");
    EXPECT_INT("its connections", next->evidence->experiment, experiment + 1);
    same.killed = 1;
    put(&same);
    whole_read(50, 10);
    EXPECT_INT("killed", next->policy.mode, MODE_OFF);
}

/* Another thread closes the descriptor while the lock is released for the control block. */
Test(live_control, a_connection_that_goes_while_it_looks) {
    start("off");
    put(&(struct stats_control){.mode = MODE_NODELAY});
    ASSERT(conn_lock(c));
    c->evidence->message_began = 0;
    fake.protocol = 0; /* descriptor 9 is nothing */
    EXPECT(!shim_tally(c, 9));
    EXPECT_INT("depth", self.depth, 0);
    EXPECT_INT("no write begins", c->evidence->message_began, 0);
    expect_in_force("all the same", MODE_NODELAY, 3000);
}

/* A child's file begins with the settings in force. */
Test(live_control, a_forked_child) {
    start("off");
    put(&(struct stats_control){.mode = MODE_NODELAY, .window_us = 700});
    whole_write(5, "data");
    statistics_end();
    mkdir(statistics_folder, 0700);
    stats_file_forked();
    conn_repaired(c);
    whole_read(5, 10);
    whole_write(5, "data");
    ASSERT(stats_file_mapped);
    EXPECT_INT("mode", stats_file_mapped->control.mode, MODE_NODELAY);
    EXPECT_INT("window", stats_file_mapped->control.window_us, 700);
    EXPECT_INT("sequence", stats_file_mapped->control.sequence, 0);
    put(&(struct stats_control){.mode = CONTROL_KEEP});
    whole_read(5, 10);
    whole_write(5, "data");
    expect_in_force("the parent's start", MODE_OFF, 3000);
}
