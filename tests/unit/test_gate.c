/* SPDX-License-Identifier: MIT
 *
 * The first call into the library, and the first one in the child of a fork.  Criterion's programs have
 * both behind them when a test begins, so each story runs in a new image of this program, before main().
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"
#include "fds.h"
#include "filter.h"
#include "lock.h"
#include "unit.h"

#define WANT(what)           \
    do {                     \
        if (!(what))         \
            return __LINE__; \
    } while (0)

static int of_a_child(int (*story)(void)) {
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(story());
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- the first call ------------------------------------------------------ */

static int ours_twice(void) {
    return ours() && ours();
}

static int the_first_call(void) {
    errno = 4711;
    WANT(*gate != GATE_OPEN && ours() && errno == 4711);
    WANT(config()->mode == MODE_CORK);
    Dl_info of_clock, of_us;
    WANT(dladdr((void *)(uintptr_t)clock_get, &of_clock) && dladdr((void *)(uintptr_t)ours_twice, &of_us));
    WANT(of_clock.dli_fbase != of_us.dli_fbase); /* the vDSO's */
    WANT(fds_word(0) <= FDS_LAST_TAG && fds_word(1) <= FDS_LAST_TAG && fds_word(2) <= FDS_LAST_TAG);
    return 0;
}

/* A shell's own writes to it never pass by the library. */
static int a_connection_as_standard_output(void) {
    int made = socket(AF_INET, SOCK_STREAM, 0);
    WANT(made >= 0 && dup2(made, 1) == 1 && dup2(made, 4) == 4 && ours());
    struct conn *c = fds_conn(fds_word(1));
    WANT(c && c->policy.untracked_io && (c->lock & 3) == 0 && self.depth == 0);
    WANT(fds_word(0) <= FDS_LAST_TAG && fds_word(4) <= FDS_LAST_TAG);
    return 0;
}

/* ---- forks ----------------------------------------------------------------- */

static uint32_t first_generation;

static int repairs_itself_once(void) {
    WANT(ours() && fork_generation == first_generation + 1);
    WANT(ours() && fork_generation == first_generation + 1);
    return 0;
}

static int a_fork(void) {
    first_generation = fork_generation;
    WANT(ours() && *gate == GATE_OPEN && fork_generation == first_generation);
    return of_a_child(repairs_itself_once);
}

/* A sandbox, or a kernel before 4.14. */
static int a_fork_where_no_page_is_wiped(void) {
    WANT(filter_fails(SYS_madvise, 2, 18 /* MADV_WIPEONFORK */, EINVAL));
    first_generation = fork_generation;
    WANT(ours() && *gate != GATE_OPEN);
    WANT(ours() && fork_generation == first_generation);
    return of_a_child(repairs_itself_once);
}

static int asks_nothing(void) {
    WANT(ours() && fork_generation == first_generation);
    return 0;
}

/* Nor may the library ask who it is, behind a filter of the program. */
static int a_fork_where_nothing_may_be_asked(void) {
    WANT(filter_fails(SYS_madvise, 2, 18, EINVAL));
    WANT(ours());
    first_generation = fork_generation;
    config_switch(MODE_OFF, true);
    return of_a_child(asks_nothing);
}

/* ---- the list of libraries ------------------------------------------------- */

static const struct {
    const char *children, *before, *after;
} lists[] = {
    {"0", "/a/libunstall.so", ""},
    {"0", "libunstall.so", ""},
    {"0", "/a/libunstall.so:/b/libother.so", "/b/libother.so"},
    {"0", "/b/libother.so:/a/libunstall.so", "/b/libother.so:"},
    {"0", "one.so /a/libunstall.so two.so", "one.so two.so"},
    {"0", "one.so:libunstall.so:libunstall.so:two.so", "one.so:two.so"},
    {"0", "nstall.so:/libunstall.so.1:/libunstall.so/x", "nstall.so:/libunstall.so.1:/libunstall.so/x"},
    {"0", "", ""},
    {"1", "/a/libunstall.so:/b/libother.so", "/a/libunstall.so:/b/libother.so"},
};

static unsigned list;

static int is_left_as_wanted(void) {
    setenv("UNSTALL_CHILDREN", lists[list].children, 1);
    setenv("LD_PRELOAD", lists[list].before, 1);
    setenv("LD_PRELOADED", "/a/libunstall.so", 1);
    WANT(ours() && strcmp(getenv("LD_PRELOAD"), lists[list].after) == 0);
    WANT(strcmp(getenv("LD_PRELOADED"), "/a/libunstall.so") == 0);
    return 0;
}

static int the_list_of_libraries(void) {
    for (list = 0; list < ARRAY_SIZE(lists); list++)
        if (of_a_child(is_left_as_wanted) != 0)
            return 1 + (int)list;
    return 0;
}

/* ---- each in an image of its own ------------------------------------------- */

static const struct {
    const char *name;
    int (*tell)(void);
} stories[] = {
    {"the first call", the_first_call},
    {"a connection as standard output", a_connection_as_standard_output},
    {"a fork", a_fork},
    {"a fork where no page is wiped", a_fork_where_no_page_is_wiped},
    {"a fork where nothing may be asked", a_fork_where_nothing_may_be_asked},
    {"the list of libraries", the_list_of_libraries},
};

/* Before the library's constructor, which is the first call otherwise. */
__attribute__((constructor(101))) static void tell(void) {
    const char *name = getenv("UNIT_GATE");
    for (size_t i = 0; name && i < ARRAY_SIZE(stories); i++)
        if (strcmp(name, stories[i].name) == 0)
            _exit(stories[i].tell());
}

static int story;

static int in_a_new_image(void) {
    setenv("UNIT_GATE", stories[story].name, 1);
    setenv("UNSTALL_MODE", "cork", 1);
    execl("/proc/self/exe", "test-gate", (char *)NULL);
    return 1;
}

Test(gate, stories, .timeout = 20) {
    for (story = 0; story < (int)ARRAY_SIZE(stories); story++) /* else the line, or the row of `lists` */
        EXPECT_INT(stories[story].name, of_a_child(in_a_new_image), 0);
}
