/* SPDX-License-Identifier: MIT
 *
 * The first call into the library, and the first one in the child of a fork.  Criterion's programs have
 * both behind them when a test begins, so each story runs in a new image of this program, before main().
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "config.h"
#include "turn.h"
#include "fds.h"
#include "filter.h"
#include "process.h"
#include "lock.h"
#include "readable.h"
#include "real.h"
#include "stats_file.h"
#include "window.h"
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
    return gate_enter() && gate_enter();
}

static int the_first_call(void) {
    errno = 4711;
    WANT(*gate != GATE_OPEN && gate_enter() && errno == 4711);
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
    WANT(made >= 0 && dup2(made, 1) == 1 && dup2(made, 4) == 4 && gate_enter());
    struct conn *c = fds_conn(fds_word(1));
    WANT(c && c->policy.untracked_io && (c->lock & 3) == 0 && self.depth == 0);
    WANT(fds_word(0) <= FDS_LAST_TAG && fds_word(4) <= FDS_LAST_TAG);
    return 0;
}

/* ---- forks ----------------------------------------------------------------- */

static uint32_t first_generation;

static int repairs_itself_once(void) {
    WANT(gate_enter() && fork_generation == first_generation + 1);
    WANT(gate_enter() && fork_generation == first_generation + 1);
    return 0;
}

static int a_fork(void) {
    first_generation = fork_generation;
    WANT(gate_enter() && *gate == GATE_OPEN && fork_generation == first_generation);
    return of_a_child(repairs_itself_once);
}

/* A sandbox, or a kernel before 4.14. */
static int a_fork_where_no_page_is_wiped(void) {
    WANT(filter_fails(SYS_madvise, 2, 18 /* MADV_WIPEONFORK */, EINVAL));
    first_generation = fork_generation;
    WANT(gate_enter() && *gate != GATE_OPEN);
    WANT(gate_enter() && fork_generation == first_generation);
    return of_a_child(repairs_itself_once);
}

static int asks_nothing(void) {
    WANT(gate_enter() && fork_generation == first_generation);
    return 0;
}

/* Behind a filter of the program the library must not ask for its process id either. */
static int a_fork_where_nothing_may_be_asked(void) {
    WANT(filter_fails(SYS_madvise, 2, 18, EINVAL));
    WANT(gate_enter());
    first_generation = fork_generation;
    config_switch(MODE_OFF, true);
    return of_a_child(asks_nothing);
}

/* The child does not continue the parent's open calls. */
static struct conn *parents;

static int starts_anew(void) {
    WANT(gate_enter());
    WANT(self.turn == NULL && self.draining == NULL && !hold_refused);
    WANT(window_state() == WINDOW_NONE && window_parked == 0 && !window_incoming);
    WANT(nodelay_epoch == 8 && *gate == GATE_OPEN);
    WANT(stats_file_mapped == NULL && stats_state == LIFE_NONE);
    ASSERT(conn_lock(parents));
    WANT(!parents->held && parents->shared);
    conn_unlock(parents);
    return 0;
}

static int what_a_fork_ends(void) {
    WANT(gate_enter());
    parents = fds_create(9, ORIGIN_SOCKET);
    WANT(parents);
    parents->held = true;
    conn_unlock(parents);
    self.turn = self.draining = parents;
    hold_refused = true;
    window_now = WINDOW_RUNS;
    window_parked = 1;
    window_incoming = parents;
    nodelay_epoch = 7;
    stats_state = LIFE_THERE;
    int line = of_a_child(starts_anew);
    WANT(gate_enter() && self.turn == parents && nodelay_epoch == 7 && hold_refused);
    self.turn = self.draining = NULL;
    return line;
}

/* Every call passes from then on, in children, too. */
static int is_shut(void) {
    WANT(!gate_enter() && !gate_enter());
    return 0;
}

static int shut_for_good(void) {
    WANT(gate_enter());
    gate_shuts_for_good();
    WANT(!gate_enter() && *gate != GATE_OPEN);
    return of_a_child(is_shut);
}

static int shut_for_good_where_no_page_is_wiped(void) {
    WANT(filter_fails(SYS_madvise, 2, 18, EINVAL));
    WANT(gate_enter());
    gate_shuts_for_good();
    WANT(!gate_enter());
    return of_a_child(is_shut);
}

/* Without memory for the page the library stays away for good. */
static int no_memory_at_the_start(void) {
    WANT(filter_fails(SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS, ENOMEM));
    errno = 4711;
    WANT(!gate_enter() && errno == 4711);
    WANT(!gate_enter() && !gate_enter());
    return of_a_child(is_shut);
}

/* The first call prepares two things: the bounds of readable memory, and the opening message if
 * it is asked for. */
static int what_the_first_call_prepares(void) {
    static char text[4096], path[64]; /* each variable UNSTALL_ of the caller's shell has a line */
    char here;
    snprintf(path, sizeof(path), "/tmp/unit-gate-%d", getpid());
    setenv("UNSTALL_VERBOSE", "1", 1);
    setenv("UNSTALL_LOG", path, 1);
    WANT(gate_enter());
    WANT(readable_known.stack_end > (uintptr_t)&here && readable_known.program_end);
    WANT(unit_read(path, text, sizeof(text)) && unlink(path) == 0);
    WANT(strstr(text, "mode cork") && strstr(text, "test-gate"));
    return 0;
}

/* The next definitions: the names by which other names are replaced are known from the start. */
static int the_next_definitions(void) {
    WANT(gate_enter() && real_syscall && real_write && real_send && real_read && real_recv && real_sendto &&
         real_sendmsg);
    return 0;
}

static void *next_of(const char *name, const char *version) {
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
    return found; /* not a tail call: dlsym looks at its caller */
}

/* A definition without a version, in a library before libc, serves all versions, as a sanitizer's does. */
static bool is_next(const void *found, const char *name, const char *version) {
    const void *exact = next_of(name, version), *first = next_of(name, NULL);
    Dl_info of_exact, of_first;
    return found == exact || (found == first && dladdr(exact, &of_exact) && dladdr(first, &of_first) &&
                              of_exact.dli_fbase != of_first.dli_fbase);
}

static bool is_found(void *real, enum need need, const char *name) {
    return real && (need != NEED_required || real == next_of(name, NULL));
}

/* An auditing library may answer dlsym otherwise, so all names are asked at once. */
static int all_next_definitions(void) {
    setenv("LD_AUDIT", "/none.so", 1);
    WANT(gate_enter());
#define ROW(name, need, family, role) WANT(is_found(real_##name, NEED_##need, #name));
#define VERSION(older, name, version, newest) WANT(is_next(real_##older, #name, version));
#include "surface.def"
#undef ROW
#undef VERSION
    return 0;
}

/* Connections as all three of them, in the hands of a shell. */
static int all_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        int made = socket(AF_INET, SOCK_STREAM, 0);
        WANT(made >= 0 && dup2(made, fd) == fd);
    }
    WANT(gate_enter());
    for (int fd = 0; fd <= 2; fd++) {
        const struct conn *c = fds_conn(fds_word(fd));
        WANT(c && c->policy.untracked_io && c->origin == ORIGIN_FOREIGN);
    }
    WANT(fds_word(3) == FDS_UNKNOWN && self.depth == 0);
    return 0;
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
    {"0", "libunstall.so.1", "libunstall.so.1"},
    {"0", "/a/mylibunstall.so:mylibunstall.so", "/a/mylibunstall.so:mylibunstall.so"},
     /* it was taken for us */
    {"0", "ibunstall.so", "ibunstall.so"},
    {"1", "/a/libunstall.so:/b/libother.so", "/a/libunstall.so:/b/libother.so"},
};

static unsigned list;

static int is_left_as_wanted(void) {
    setenv("UNSTALL_CHILDREN", lists[list].children, 1);
    setenv("LD_PRELOAD", lists[list].before, 1);
    setenv("LD_PRELOADED", "/a/libunstall.so", 1);
    WANT(gate_enter() && strcmp(getenv("LD_PRELOAD"), lists[list].after) == 0);
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
    {"what a fork ends", what_a_fork_ends},
    {"shut for good", shut_for_good},
    {"shut for good where no page is wiped", shut_for_good_where_no_page_is_wiped},
    {"no memory at the start", no_memory_at_the_start},
    {"what the first call prepares", what_the_first_call_prepares},
    {"the next definitions", the_next_definitions},
    {"all next definitions", all_next_definitions},
    {"all standard streams", all_standard_streams},
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
    execve("/proc/self/exe", (char *[]){(char[]){"test-gate"}, NULL}, environ);
    return 1;
}

Test(gate, stories, .timeout = 120) {
    for (story = 0; story < (int)ARRAY_SIZE(stories); story++) /* else the line, or the row of `lists` */
        EXPECT_INT(stories[story].name, of_a_child(in_a_new_image), 0);
}
