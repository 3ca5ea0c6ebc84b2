/* SPDX-License-Identifier: MIT
 *
 * From the environment to a published snapshot; warnings; switches while the program runs.
 */

#include "config.h"
#include "unit.h"

/* config_load() with its warnings kept: they go to descriptor 2. */
static const char *load(const char *program, char **environment) {
    static char said[8192];
    int pipe_ends[2], stderr_before = dup(2);
    ASSERT(pipe(pipe_ends) == 0);
    ASSERT(dup2(pipe_ends[1], 2) == 2);
    close(pipe_ends[1]);
    config_load(environment, program);
    dup2(stderr_before, 2);
    close(stderr_before);
    ssize_t n = read(pipe_ends[0], said, sizeof(said) - 1);
    close(pipe_ends[0]);
    said[n > 0 ? n : 0] = '\0';
    return said;
}

#define LOAD_ENV(program, ...) load(program, (char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static int lines(const char *text) {
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

Test(config_load, nothing_set) {
    cr_expect_str_eq(LOAD_ENV("prog", (char[]){"PATH=/bin"}), "");
    const struct config *c = config();
    EXPECT_INT("mode", c->mode, MODE_AUTO);
    EXPECT_INT("epoch", c->epoch, 1);
    EXPECT_INT("small", c->small, 4096);
}

/* Without a seed no two processes make the same choice. */
Test(config_load, a_seed_is_given_or_made) {
    LOAD_ENV("prog", (char[]){"UNSTALL_SEED=4711"});
    EXPECT_INT("given", config()->arms.seed, 4711);
    LOAD_ENV("prog", (char[]){"UNSTALL_SEED=0"});
    EXPECT_INT("zero is one, too", config()->arms.seed, 0);
    LOAD_ENV("prog");
    uint64_t first = config()->arms.seed;
    LOAD_ENV("prog");
    EXPECT(first != 0 && config()->arms.seed > first);
}

/* The effects that an excluded program must not have, and the settings that it keeps. */
Test(config_load, an_excluded_program_takes_no_part) {
    LOAD_ENV("java", (char[]){"UNSTALL_PROGRAMS=!java"}, (char[]){"UNSTALL_ARMS=off:1,coalesce:1"},
             (char[]){"UNSTALL_STATS=/dev/shm"}, (char[]){"UNSTALL_SMALL=100"},
             (char[]){"UNSTALL_QUICKACK=always"});
    EXPECT(config()->arms.count == 0 && !config()->stats && !config()->buffers);
    EXPECT_INT("quickack stayed", config()->quickack, QUICKACK_OFF);
    EXPECT_INT("small", config()->small, 100);
    LOAD_ENV("python", (char[]){"UNSTALL_PROGRAMS=!java"}, (char[]){"UNSTALL_ARMS=off:1,coalesce:1"},
             (char[]){"UNSTALL_STATS=/dev/shm"});
    EXPECT(config()->arms.count == 2 && config()->stats && config()->buffers);
}

/* Whether bytes may wait in a buffer of ours, by the mode, by an arm, or from before. */
Test(config_load, who_may_buffer) {
    static const char *const rows[][2] = {{"UNSTALL_MODE=auto", "UNSTALL_ARMS=off:1,cork:1"},
                                          {"UNSTALL_MODE=coalesce", NULL},
                                          {"UNSTALL_MODE=off", "UNSTALL_ARMS=coalesce:1,cork:1"},
                                          {"UNSTALL_MODE=off", "UNSTALL_ARMS=cork:1,coalesce:1"}};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        load("prog", (char *[]){(char *)(uintptr_t)rows[i][0], (char *)(uintptr_t)rows[i][1], NULL});
        EXPECT_INT(rows[i][0], config()->buffers, i > 0);
    }
    config_switch(MODE_OFF, false);
    cr_expect(config()->buffers, "what is buffered stays so");
    load("prog", NULL);
    config_switch(MODE_CORK, false);
    EXPECT(!config()->buffers);
    config_switch(MODE_COALESCE, false);
    EXPECT(config()->buffers);
}

Test(config_load, a_kill_changes_nothing_else) {
    LOAD_ENV("prog", (char[]){"UNSTALL_MODE=cork"});
    config_kill();
    EXPECT(config()->killed && config()->mode == MODE_CORK && !config()->no_syscalls);
    EXPECT_INT("epoch", config()->epoch, 2);
    const struct config *seen = config();
    struct config next = *seen;
    config_switch(MODE_OFF, false);
    EXPECT(!config_publish(seen, &next));
    EXPECT_INT("another was first", config()->mode, MODE_OFF);
    EXPECT(config()->killed);
}

Test(config_load, long_values_are_cut) {
    char entry[2000] = "UNSTALL_MODE=";
    memset(entry + 13, 'x', 1900);
    const char *said = LOAD_ENV("prog", entry);
    EXPECT_INT("lines", lines(said), 1);
    cr_expect(strlen(said) < 512 && strstr(said, "nodelay"), "%s", said);
}

Test(config_load, more_than_can_be_kept_in_all) {
    static char first[6000] = "UNSTALL_REPORT=", second[6000] = "UNSTALL_STATS=";
    memset(first + 15, 'x', sizeof(first) - 16);
    memset(second + 14, 'y', sizeof(second) - 15);
    const char *said = LOAD_ENV("prog", first, second);
    EXPECT_INT("lines", lines(said), 1);
    cr_expect(strstr(said, "UNSTALL_STATS") && strstr(said, "8192"), "%.200s", said);
    EXPECT(config()->report && !config()->stats);
}

Test(config_load, strings_outlive_the_environment) {
    char entry[] = "UNSTALL_REPORT=/tmp/a.json";
    LOAD_ENV("prog", entry);
    memset(entry, 'z', sizeof(entry) - 1);
    cr_expect_str_eq(config()->report, "/tmp/a.json");
}

/* ---- switches ----------------------------------------------------------- */

Test(config_load, switch_publishes_another_snapshot) {
    LOAD_ENV("prog", (char[]){"UNSTALL_PORTS=80"}, (char[]){"UNSTALL_MODE=auto"});
    const struct config *first = config();
    struct config copy = *first;
    config_switch(MODE_CORK, false);
    const struct config *second = config();
    ASSERT(second != first);
    cr_expect(memcmp(first, &copy, sizeof(copy)) == 0, "the old snapshot has changed");
    EXPECT_INT("mode", second->mode, MODE_CORK);
    EXPECT_INT("epoch", second->epoch, copy.epoch + 1);
    EXPECT_INT("everything else stays", second->port_count, 1);
    config_switch(MODE_OFF, true);
    EXPECT(config()->no_syscalls);
    EXPECT_INT("epoch", config()->epoch, copy.epoch + 2);
    EXPECT_INT("the second keeps its mode", second->mode, MODE_CORK);
}

Test(config_load, a_reader_may_lag) {
    LOAD_ENV("prog");
    for (int start = 0; start < 200; start++) { /* wherever in the ring */
        config_switch(MODE_NODELAY, false);
        const struct config *mine = config();
        struct config copy = *mine;
        for (int i = 0; i < 60; i++) {
            config_switch(i % 2 ? MODE_CORK : MODE_AUTO, false);
            ASSERT(config() != mine);
            ASSERT(config()->epoch == copy.epoch + (uint32_t)i + 1);
        }
        cr_assert(memcmp(mine, &copy, sizeof(copy)) == 0, "60 switches behind");
    }
}
