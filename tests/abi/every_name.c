/* SPDX-License-Identifier: MIT
 *
 * Every name of the surface, called once in the situation argv[1]:
 *
 *   main      from main
 *   errno     with another errno set before
 *   early     before any constructor ran (.preinit_array): our own init included
 *   last      from a destructor that runs after ours (this file as a library, preloaded behind us)
 *   signal    from a signal handler
 *   inside    from a signal handler that interrupts the very same kind of call
 *   within    from a signal handler that interrupts the library, at another of its instructions for each name
 *   forked    in a forked child
 *   vforked   in a vfork child
 *   thread    from another thread
 *   cloned    from a thread made by clone(2), on the thread-locals of the one that waits for it
 *   unseen    the same, and the library does not see that the thread is made
 *   pointers  with each of its pointers leading nowhere in turn, in a child
 *   lacking   with a libc that has neither the name nor another name of our definition (hook.c)
 *   lean      the first of a thread; a line more tells how often it allocated, one how much stack it needed
 *
 * With argv[2] `warm` a connection has had the pattern before; with `holding` a piece of a message is written
 * before each call, and must have come at its other end afterwards; how many of them were held is said at the
 * end on standard error.
 *
 * A line for each name: its result and errno.  They must be those of a bare run.
 * The names are looked up, so that one which this libc lacks prints `absent`.
 */
#include "../preload/programs/client.h"
#include <aio.h>
#include <dlfcn.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/time.h>
#include <threads.h>
#include <ucontext.h>

extern char **environ;

#include "every_name.h"
#include "every_name_connection.h"
#ifndef AS_LIBRARY
#include "every_name_lean.h"
#else
#define LEAN(call)               (call)
#define lean_last(name, call, a) call((a)[0], (a)[1], 0, 0, 0, 0)
#define lean_last_begins()       ((void)0)
#define lean_last_ended()        ((void)0)
#endif

static void show(const char *name, const char *what, long result, int error) {
    char line[160];
    int n = snprintf(line, sizeof line, "%s: %s %ld errno %d\n", name, what, result, error);
    raw_call(SYS_write, 1, (long)line, n, 0, 0);
}

#include "every_name_make.h"

static void make_all(void) {
    sigset_t old;
    sigprocmask(SIG_BLOCK, &alarm_signal, &old);
    for (int at = 0; at < CALLS; at++) make(at);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- the situations ------------------------------------------------------ */

#ifdef AS_LIBRARY /* behind us in LD_PRELOAD: initialised before us, and ended after us */

__attribute__((destructor)) static void last(void) {
    prepare();
    make_all();
}

#else

static void with_errno(void) {
    errno_before = ENOTTY;
    make_all();
}

static void on_usr1(int number) {
    (void)number;
    int saved = errno;
    make_all();
    errno = saved;
}

static void signalled(void) {
    raise(SIGUSR1);
}

/* Wakes the main thread out of its poll. */
static void *interrupt(void *main_thread) {
    struct timespec pause_ = {0, 50000000};
    raw_call(SYS_nanosleep, (long)&pause_, 0, 0, 0, 0);
    pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
    return NULL;
}

static void inside(void) {
    pthread_t self = pthread_self(), thread;
    pthread_create(&thread, NULL, interrupt, &self);
    struct pollfd none = {.fd = -1};
    poll(&none, 1, 5000);
    pthread_join(thread, NULL);
}

static void *in_thread(void *unused) {
    take_signals();
    make_all();
    return unused;
}

static void thread(void) {
    pthread_t thread;
    leave_signals();
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
}

static void forked(void) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        make_all();
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(status == 0);
}

/* Without those that make a child or a thread: three would share one memory. */
static void vforked(void) {
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    static int at; /* not on the stack that the child uses */
    for (at = 0; at < CALLS; at++) {
        if (calls[at].how == PARENT || calls[at].how == LAST || calls[at].how == STARTS) continue;
        pid_t child = vfork();
        if (child == 0) {
            make(at);
            raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
        }
        raw_call(SYS_wait4, child, 0, 0, 0, 0);
    }
}

static int in_clone(void *unused) {
    (void)unused;
    take_signals();
    make_all();
    return 0;
}

typedef int clone_t(int (*)(void *), void *, int, void *, ...);

static void in_thread_of(clone_t *make_thread) {
    static char stack[1 << 18] __attribute__((aligned(64)));
    static int alive = 1;
    leave_signals();
    int made = make_thread(in_clone, stack + sizeof stack,
                           CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                               CLONE_CHILD_CLEARTID,
                           NULL, NULL, NULL, &alive);
    CHECK(made > 0);
    while (*(volatile int *)&alive) raw_call(SYS_futex, (long)&alive, FUTEX_WAIT, 1, 0, 0);
}

/* The library steps aside: see cloned_unseen for what it does with shared thread-locals. */
static void cloned(void) {
    in_thread_of(clone);
}

/* libc's own clone: its system call is inline. */
static void cloned_unseen(void) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    clone_t *own = libc ? (clone_t *)dlsym(libc, "clone") : NULL;
    CHECK(own);
    in_thread_of(own);
}

#include "every_name_pointers.h"
#include "every_name_within.h"

typedef void lacks_t(const char *name, bool lacks);

/* Also the names at the same address: an alias has no next definition of its own. */
static void lack(lacks_t *lacks, int at, bool so) {
    for (int other = 0; other < CALLS; other++)
        if (dlsym(RTLD_DEFAULT, calls[other].name) == dlsym(RTLD_DEFAULT, calls[at].name))
            lacks(calls[other].name, so);
}

static void lacking(void) {
    lacks_t *lacks = (lacks_t *)dlsym(RTLD_DEFAULT, "unstall_hook_lacks");
    CHECK(lacks);
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    for (int at = 0; at < CALLS; at++) {
        lack(lacks, at, true);
        make(at);
        lack(lacks, at, false);
        sigtimedwait(&alarm_signal, NULL, &no_time); /* which the call left pending */
    }
    int copy = fcntl(0, F_DUPFD, 300);
    CHECK(copy >= 300);
    lacks("closefrom", true);
    closefrom(copy);
    show("closefrom", "left open", fcntl(copy, F_GETFD) >= 0, 0);
}

/* ---- allocations and stack -------------------------------------------------- */

/* Which row is made, and whether on a connection. */
static struct {
    int at;
    bool connected;
} lean_row;

static void make_lean(int at, const long *arguments) {
    int before = allocations;
    needed = 0;
    make_with(at, arguments);
    show(calls[at].name, "allocated", allocations - before, 0);
    show(calls[at].name, "needed", needed, 0);
}

/* The connection is not used again: a row may close it, or leave bytes in it. */
static void make_lean_on_connection(int at) {
    long arguments[6];
    bool held = holding;
    int own[] = {near_end, far_end};
    memcpy(arguments, calls[at].arguments, sizeof arguments);
    connect_to_ourselves();
    for (int i = 0; i < 3 && pieces; i++) exchange_once();
    raw_call(SYS_write, far_end, (long)"01234567", 8, 0, 0);
    hold_a_piece();
    holding = false;
    arguments[0] = near_end;
    make_lean(at, arguments);
    holding = held;
    close(near_end);
    raw_call(SYS_close, far_end, 0, 0, 0, 0);
    near_end = own[0], far_end = own[1];
}

/* More parts than a send of ours takes, more bytes than there is room for, behind a held piece. */
static void lean_vector(void) {
    enum { PARTS = 200, PART = 1000, ROOM = 4096 };
    static char bytes[PART];
    static struct iovec parts[PARTS];
    int room = ROOM, own[] = {near_end, far_end}, before = allocations;
    bool held = holding;
    long written = 0;
    call_t *call = (call_t *)dlsym(RTLD_DEFAULT, "writev"); /* the loader's binding needs 3 KB */
    connect_to_ourselves();
    setsockopt(near_end, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    for (int i = 0; i < 3 && pieces; i++) exchange_once();
    for (int i = 0; i < PARTS; i++) parts[i] = (struct iovec){bytes, PART};
    hold_a_piece();
    needed = 0;
    pid_t child = (pid_t)raw_fork();
    if (child == 0) {
        while (raw_call(SYS_read, far_end, (long)bytes, PART, 0, 0) > 0)
            ;
        raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    for (int at = 0; at < PARTS; at = (int)(written / PART)) { /* a part that is written partly comes again */
        long now = LEAN(call(near_end, (long)(parts + at), PARTS - at, 0, 0, 0));
        CHECK(now > 0);
        written += now;
    }
    show("writev", "allocated", allocations - before, 0);
    show("writev", "needed", needed, 0);
    raw_call(SYS_shutdown, near_end, SHUT_WR, 0, 0, 0);
    raw_call(SYS_wait4, child, 0, 0, 0, 0);
    close(near_end);
    raw_call(SYS_close, far_end, 0, 0, 0, 0);
    near_end = own[0], far_end = own[1], holding = held;
}

static void *lean_thread(void *unused) {
    take_signals();
    if (lean_row.at == CALLS) lean_vector();
    else if (lean_row.connected) make_lean_on_connection(lean_row.at);
    else make_lean(lean_row.at, calls[lean_row.at].arguments);
    return unused;
}

static void in_lean_thread(int at, bool connected) {
    pthread_attr_t attributes;
    pthread_t made;
    lean_row.at = at, lean_row.connected = connected;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, (void *)(uintptr_t)lean_stack, LEAN_STACK);
    CHECK(pthread_create(&made, &attributes, lean_thread, NULL) == 0);
    pthread_join(made, NULL);
}

static void lean(void) {
    pthread_key_t key;
    for (int i = 0; i < KEYS; i++) CHECK(pthread_key_create(&key, NULL) == 0);
    lean_stack = mmap(NULL, LEAN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    last_stack = mmap(NULL, LEAN_STACK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(lean_stack != MAP_FAILED && last_stack != MAP_FAILED);
    leave_signals();
    lean_runs = true;
    in_lean_thread(CALLS, true); /* first: after sixteen changes of rights nothing is held */
    for (int at = 0; at < CALLS; at++) {
        in_lean_thread(at, false);
        if (may_have_connection(at)) in_lean_thread(at, true);
    }
    lean_runs = false;
}

/* ---- the beginning and the end --------------------------------------------- */

static void set_state(const char *state) {
    if (strcmp(state, "cold") == 0) return;
    warm_up();
    holding = strcmp(state, "holding") == 0;
}

static void early(int argc, char **argv, char **environment) {
    (void)environment;
    if (argc < 2 || strcmp(argv[1], "early") != 0) return;
    prepare();
    make_all();
}

__attribute__((section(".preinit_array"), used))
static void (*const before_all)(int, char **, char **) = early;

static void nothing(void) {
}

static void names(void) {
    for (int at = 0; at < CALLS; at++) printf("%s\n", calls[at].name);
}

static const struct {
    const char *name;
    void (*run)(void);
} situations[] = {
    {"names", names}, {"main", make_all}, {"errno", with_errno}, {"early", nothing}, {"signal", signalled},
    {"inside", inside}, {"within", within}, {"forked", forked}, {"vforked", vforked}, {"thread", thread},
    {"lacking", lacking},
    {"cloned", cloned}, {"unseen", cloned_unseen}, {"pointers", pointers}, {"lean", lean},
};

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = on_usr1};
    CHECK(argc == 3);
    prepare();
    sigaction(SIGUSR1, &action, NULL);
    set_state(argv[2]);
    for (size_t i = 0; i < sizeof situations / sizeof *situations; i++)
        if (strcmp(argv[1], situations[i].name) == 0) situations[i].run();
    if (holding) fprintf(stderr, "%d of %d pieces held\n", pieces->held, pieces->written);
    return 0;
}

#endif
