/* SPDX-License-Identifier: MIT
 *
 * UNSTALL_VERBOSE: which lines, at which level.
 */
#include <unistd.h>

#include "evidence.h"
#include "whole.h"

static char log_path[64], text[4096];

static void clean_up(void) {
    unlink(log_path);
}

TestSuite(verbose, .fini = clean_up);

static void start(const char *level) {
    static char log[96], setting[32];
    snprintf(log_path, sizeof(log_path), "/dev/shm/unit-log-%d", getpid());
    snprintf(log, sizeof(log), "UNSTALL_LOG=%s", log_path);
    snprintf(setting, sizeof(setting), "UNSTALL_VERBOSE=%s", level);
    whole_start((const char *const[]){"UNSTALL_MODE=nodelay", log, setting, NULL});
}

static unsigned lines_with(const char *words) {
    unsigned count = 0;
    unit_read(log_path, text, sizeof(text));
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static void write_by_the_long_path(const char *bytes) {
    struct iovec part = {(char *)(uintptr_t)bytes, strlen(bytes)};
    shim_write(&(struct write_request){.fd = 5, .form = FORM_WRITEV, .iov = &part, .iov_count = 1});
}

/* Two late pushes of one connection: the program has set its option back between them. */
static const struct {
    const char *level;
    unsigned lines;
} levels[] = {{"0", 0}, {"1", 1}, {"2", 2}};

Test(verbose, late_pushes) {
    EACH_ROW(row, levels) {
        start(row->level);
        struct conn *c = whole_connected(5);
        for (int i = 0; i < 2; i++) {
            whole_write(5, "head");
            write_by_the_long_path("body");
            whole_read(5, 100);
            ASSERT(c->policy.nodelay);
            c->policy.nodelay = false;
        }
        EXPECT_INT(row->level, c->counts.late_pushes, 2);
        EXPECT_INT(row->level, lines_with("TCP_NODELAY set"), row->lines);
        if (row->lines)
            EXPECT(strstr(text, "descriptor 5 to 127.0.0.1 port 80: a second small write (4 bytes)"));
        shim_closing(5);
        clean_up();
    }
}

Test(verbose, the_start) {
    start("0");
    verbose_start();
    EXPECT_INT("nothing", lines_with("mode"), 0);
    start("1");
    verbose_start();
    EXPECT_INT("a line", lines_with("]: mode nodelay, window 1000 us, small 4096 bytes"), 1);
}
