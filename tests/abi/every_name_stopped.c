/* SPDX-License-Identifier: MIT
 *
 * Every name of the surface, called while a debugger has stopped another thread inside the library.
 *
 *   every_name_stopped THREAD SHARE OF SECONDS
 *
 * THREAD is the one that is stopped: `writer` connects and exchanges messages, `window` is the library's own
 * thread, which ends the holds of the writer.  The debugger, another process, makes its instructions step by
 * step, from the library's first one until it is back in the program: in libc and in the kernel's clock, too.
 * Each address is a place, and each round, with a new connection, stops the thread at the first place of this
 * SHARE of OF where it has not been stopped yet.  It is stopped until every name has been called, and for
 * SECONDS at least.  A name that takes a descriptor gets the connection's.
 *
 * No call takes a second, and the bytes of each write that returned come, in order, once.  A busy machine is
 * late once: a place where a call was late is met up to three times.  Names whose bare definition waits for
 * each thread of the process are left out (waits_for_all).
 *
 * At the end it says as JSON how many places and calls there were, and which call took longest.
 */
#include "../preload/programs/client.h"
#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <semaphore.h>
#include <stddef.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>
#include <threads.h>

extern char **environ;

#include "every_name.h"
#include "every_name_connection.h"

enum { LIMIT_MS = 1000, TRIES = 3 };

/* What both processes see. */
static struct shared {
    uint32_t writer;  /* its task, once it is there */
    uint32_t traced;  /* the debugger has it */
    uint32_t stopped; /* 1 while the thread is stopped at a place */
    uint32_t late;    /* a call was late there */
    uint32_t ended;   /* there is no place left */
    uint64_t place;   /* where it is stopped */
    uint32_t places, calls, longest_ms;
    char longest[40];
} *shared;

static uint32_t load(const uint32_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void word_set(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    raw_call(SYS_futex, (long)word, FUTEX_WAKE, 1 << 30, 0, 0);
}

/* Not for ever: the other process may have ended. */
static uint32_t word_after(uint32_t *word, uint32_t value) {
    struct timespec moment = {0, 20000000};
    if (load(word) == value) raw_call(SYS_futex, (long)word, FUTEX_WAIT, value, (long)&moment, 0);
    return load(word);
}

static uint64_t now_ms(void) {
    struct timespec t;
    raw_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0, 0);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void pause_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    raw_call(SYS_nanosleep, (long)&t, 0, 0, 0, 0);
}

/* ---- the table's calls ---------------------------------------------------- */

/* A copy that a call has made ends at once. */
static void show(const char *name, const char *what, long result, int error) {
    bool copies = strstr(name, "dup") || strcmp(name, "fcntl64") == 0;
    (void)what, (void)error;
    if (copies && result > 2 && !strstr(name, "spawn")) close((int)result);
}

static void say_result(long result);
#define LEAN(call)               __extension__({ long made_ = (call); say_result(made_); made_; })
#define lean_last(name, call, a) call((a)[0], (a)[1], 0, 0, 0, 0)
#define lean_last_begins()       ((void)0)
#define lean_last_ended()        ((void)0)
#include "every_name_make.h"

/* libc interrupts every thread to change the rights of all, and waits for it. */
static const char *const waits_for_all[] = {"setuid", "seteuid", "setreuid", "setresuid", "setgid", "setegid",
                                            "setregid", "setresgid", "setgroups", "initgroups"};

static bool is_made(int at) {
    for (size_t i = 0; i < sizeof waits_for_all / sizeof *waits_for_all; i++)
        if (strcmp(calls[at].name, waits_for_all[i]) == 0) return false;
    return dlsym(RTLD_DEFAULT, calls[at].name) != NULL;
}

/* ---- bytes: the writer's tokens, which begin with a byte of their own, and those of the calls ------ */

enum { TOKEN = 8, MARK = 0xf7, MOST_BYTES = 1 << 16 };

static struct {
    char bytes[MOST_BYTES];
    int count;
} came, written_by_calls;
static uint32_t tokens; /* whose write has returned */
static bool connected;

static void append(const void *bytes, long count) {
    CHECK(written_by_calls.count + count <= MOST_BYTES);
    memcpy(written_by_calls.bytes + written_by_calls.count, bytes, (size_t)count);
    written_by_calls.count += (int)count;
}

static void take(void) {
    long n;
    while ((n = raw6(SYS_recvfrom, far_end, (long)came.bytes + came.count, MOST_BYTES - came.count,
                     MSG_DONTWAIT, 0, 0)) > 0)
        came.count += (int)n;
}

/* What has come of the calls stands in `rest`. */
static uint32_t tokens_in(char *rest, int *count) {
    uint32_t number = 0;
    *count = 0;
    for (int i = 0; i < came.count; i++) {
        if ((unsigned char)came.bytes[i] != MARK) {
            rest[(*count)++] = came.bytes[i];
            continue;
        }
        char expected[TOKEN + 1];
        CHECK(came.count - i >= TOKEN);
        snprintf(expected, sizeof expected, "%06u\n", ++number);
        CHECK(memcmp(came.bytes + i + 1, expected, TOKEN - 1) == 0);
        i += TOKEN - 1;
    }
    return number;
}

static void check_bytes(void) {
    static char rest[MOST_BYTES];
    uint64_t until = now_ms() + LIMIT_MS;
    int all = (int)tokens * TOKEN + written_by_calls.count, count;
    for (take(); came.count < all && now_ms() < until; take()) pause_ms(1);
    uint32_t number = tokens_in(rest, &count);
    if (number == tokens && count == written_by_calls.count &&
        memcmp(rest, written_by_calls.bytes, (size_t)count) == 0)
        return;
    int same = 0;
    while (same < count && rest[same] == written_by_calls.bytes[same]) same++;
    fprintf(stderr, "at %#llx %u tokens of %u came, and %d bytes for %d, of which %d are right: %.40s\n",
            (unsigned long long)shared->place, number, tokens, count, written_by_calls.count, same,
            rest + same);
    exit(97);
}

/* ---- the calls against the connection --------------------------------------- */

static long result_of_row;

static void say_result(long result) {
    result_of_row = result;
}

/* The bytes that a row writes to the connection. */
static void note_written(const char *name, const char *before) {
    uint64_t one = 1;
    if (strcmp(name, "eventfd_write") == 0 && result_of_row == 0) append(&one, sizeof one);
    else if (result_of_row <= 0 || strstr(name, "sendfile")) return;
    else if (strstr(name, "sendmmsg")) append(before, 4);
    else if (strstr(name, "vdprintf")) append("text", 4);
    else if (strstr(name, "dprintf")) append("text 5", 6);
    else if (strstr(name, "write") || strstr(name, "send")) append(before, result_of_row);
}

static void make_on_connection(int at) {
    const char *name = calls[at].name;
    long arguments[6];
    char before[sizeof buffer];
    bool ends = strstr(name, "close") != NULL;
    memcpy(arguments, calls[at].arguments, sizeof arguments);
    memcpy(before, buffer, sizeof before);
    arguments[0] = ends ? dup(near_end) : near_end;
    result_of_row = 0;
    make_with(at, arguments);
    note_written(name, before);
}

static void make_row(int at) {
    uint64_t before = now_ms();
    bool on_it = connected && may_have_connection(at) && strcmp(calls[at].name, "shutdown") != 0;
    if (on_it) make_on_connection(at);
    else make(at);
    uint32_t took = (uint32_t)(now_ms() - before);
    shared->calls++;
    if (took > shared->longest_ms) {
        shared->longest_ms = took;
        snprintf(shared->longest, sizeof shared->longest, "%s", calls[at].name);
    }
    if (took < LIMIT_MS) return;
    shared->late++;
    fprintf(stderr, "at %#llx %s took %u ms\n", (unsigned long long)shared->place, calls[at].name, took);
}

/* From another row on each time: the first that cannot have the lock waits longest. */
static void *make_rows(void *seconds) {
    static int first;
    uint64_t until = now_ms() + (uint64_t)*(int *)seconds * 1000;
    take_signals();
    first = (first + 37) % CALLS;
    for (int i = 0; i < CALLS; i++)
        if (is_made((first + i) % CALLS)) make_row((first + i) % CALLS);
    while (now_ms() < until) {
        static const char *const again[] = {"write", "poll", "fork"};
        for (int at = 0; at < CALLS; at++)
            for (size_t i = 0; i < sizeof again / sizeof *again; i++)
                if (strcmp(calls[at].name, again[i]) == 0) make_row(at);
        pause_ms(2000);
    }
    return NULL;
}

/* ---- the writer --------------------------------------------------------------- */

static void put(void) {
    char token[TOKEN + 1];
    snprintf(token, sizeof token, "%c%06u\n", MARK, tokens + 1);
    CHECK(write(near_end, token, TOKEN) == TOKEN);
    tokens++;
}

/* Header and body, and the answer.  With a pause in between the window's thread ends the hold. */
static void one_message(long pause) {
    char answers[64];
    struct pollfd input = {.fd = near_end, .events = POLLIN};
    put();
    if (pause) pause_ms(pause);
    put();
    poll(&input, 1, 1);
    take();
    raw_call(SYS_write, far_end, (long)"k", 1, 0, 0);
    if (poll(&input, 1, 5) > 0) recv(near_end, answers, sizeof answers, MSG_DONTWAIT);
}

static void live(void) {
    struct timeval moment = {0, 2000};
    connect_to_ourselves();
    raw_call(SYS_setsockopt, near_end, SOL_SOCKET, SO_RCVTIMEO, (long)&moment, sizeof moment);
    __atomic_store_n(&connected, true, __ATOMIC_RELEASE);
    for (int i = 0; i < 4; i++) one_message(i == 2 ? 20 : 0);
}

/* The debugger knows the round by these. */
#define BREAKPOINT __asm__ volatile("int3")

enum { IDLE, GOES, DONE };
static uint32_t writer_does;

static void *writer_runs(void *unused) {
    word_set(&shared->writer, (uint32_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0));
    for (;;) {
        while (word_after(&writer_does, IDLE) != GOES && load(&writer_does) != DONE) continue;
        if (load(&writer_does) == DONE) {
            pause_ms(1);
            continue;
        }
        BREAKPOINT;
        live();
        BREAKPOINT;
        word_set(&writer_does, DONE);
    }
    return unused;
}

/* All that was written comes while the connection is open. */
static void end_round(void) {
    char answers[64];
    struct timespec moment = {0, 1};
    nanosleep(&moment, NULL);
    check_bytes();
    while (raw6(SYS_recvfrom, near_end, (long)answers, sizeof answers, MSG_DONTWAIT, 0, 0) > 0) continue;
    close(near_end);
    CHECK(raw_call(SYS_read, far_end, (long)answers, sizeof answers, 0, 0) == 0);
    raw_call(SYS_close, far_end, 0, 0, 0, 0);
    connected = false;
    tokens = 0;
    came.count = written_by_calls.count = 0;
}

static void while_stopped(int seconds) {
    pthread_t caller;
    CHECK(pthread_create(&caller, NULL, make_rows, &seconds) == 0);
    pthread_join(caller, NULL);
}

static void victim(int seconds) {
    pthread_t writer;
    prepare();
    leave_signals();
    CHECK(pthread_create(&writer, NULL, writer_runs, NULL) == 0);
    while (!load(&shared->traced)) pause_ms(1);
    while (!load(&shared->ended)) {
        word_set(&writer_does, GOES);
        while (word_after(&writer_does, GOES) != DONE) {
            if (!load(&shared->stopped)) continue;
            while_stopped(seconds);
            word_set(&shared->stopped, 0);
        }
        end_round();
    }
    raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
}

/* ---- the debugger --------------------------------------------------------------- */

struct range {
    unsigned long begin, end;
};

enum { MOST_PLACES = 1 << 16, TASKS = 16, ROUNDS_WITHOUT = 3 /* a new place: then none is left */ };

static pid_t process, own_tasks[TASKS]; /* the library's, that we trace */
static int own_count;
static struct range program, library;
static bool steps_window, in_round, within;
static unsigned long share, of;
static unsigned long met[MOST_PLACES]; /* a set: by open addressing */
static int tries_of[MOST_PLACES], rounds_without;
static bool new_in_round;
static unsigned long last; /* where the writer was stopped in the round before; 0: nowhere */
static bool runs_to_last; /* without steps: the processor tells when it is there */

__attribute__((noreturn)) static void give_up(const char *why) {
    fprintf(stderr, "debugger: %s: %s\n", why, strerror(errno));
    raw_call(SYS_kill, process, SIGKILL, 0, 0, 0);
    exit(96);
}

static long trace(long request, pid_t task, long address, long data) {
    return raw6(SYS_ptrace, request, task, address, data, 0, 0);
}

static unsigned long program_counter(pid_t task) {
    struct user_regs_struct registers;
    if (trace(PTRACE_GETREGS, task, 0, (long)&registers) < 0) return 0;
    return registers.rip;
}

static void find_ranges(void) {
    char name[64], line[512];
    snprintf(name, sizeof name, "/proc/%d/maps", process);
    FILE *maps = fopen(name, "r");
    if (!maps) give_up(name);
    while (fgets(line, sizeof line, maps)) {
        struct range *r = strstr(line, "libunstall")   ? &library
                          : strstr(line, "every_name") ? &program
                                                       : NULL;
        if (r && strstr(line, " r-xp ")) sscanf(line, "%lx-%lx", &r->begin, &r->end);
    }
    fclose(maps);
}

static bool is_in(struct range r, unsigned long at) {
    return at >= r.begin && at < r.end;
}

/* Where a place stands in the set, or is to stand. */
static unsigned long slot_of(unsigned long at) {
    unsigned long i = at * 0x9e3779b97f4a7c15 >> 48;
    while (met[i] && met[i] != at) i = (i + 1) % MOST_PLACES;
    return i;
}

static bool is_of_share(unsigned long at) {
    return (at * 0x9e3779b97f4a7c15 >> 20) % of == share;
}

/* From the library's first instruction until the program's next one: it calls libc and the vDSO, too.
 * The library's own thread never is in the program. */
static bool is_new(unsigned long at) {
    if (is_in(library, at)) within = true;
    else if (is_in(program, at)) within = steps_window;
    if (library.begin ? !within : is_in(program, at)) return false;
    if (!is_of_share(at)) return false;
    unsigned long slot = slot_of(at);
    return !met[slot] || tries_of[slot] < 0;
}

static void look_at_other_events(void);

/* The thread stays where it is until the victim says so. */
static void stop_at(unsigned long at) {
    unsigned long slot = slot_of(at);
    met[slot] = last = at;
    shared->place = library.begin ? at - library.begin : at;
    shared->places++;
    new_in_round = true;
    uint32_t late = load(&shared->late);
    word_set(&shared->stopped, 1);
    while (word_after(&shared->stopped, 1)) look_at_other_events();
    if (load(&shared->late) == late) tries_of[slot] = 0;
    else if (--tries_of[slot] > -TRIES) shared->late = late, shared->places--; /* again */
    else tries_of[slot] = 0;
}

static bool is_own(pid_t task) {
    for (int i = 0; i < own_count; i++)
        if (own_tasks[i] == task) return true;
    return false;
}

static void forget_own(pid_t task) {
    for (int i = 0; i < own_count; i++)
        if (own_tasks[i] == task) own_tasks[i] = own_tasks[--own_count];
}

static void go_on(pid_t task, long signal) {
    bool stepped = steps_window ? is_own(task) : task == (pid_t)shared->writer;
    bool steps = stepped && in_round && !new_in_round && !runs_to_last;
    trace(steps ? PTRACE_SINGLESTEP : PTRACE_CONT, task, 0, signal);
}

/* The library's thread may have been made by a call of the table, too. */
static void trace_own(void) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/task", process);
    DIR *tasks = opendir(name);
    if (!tasks) give_up(name);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        pid_t task = atoi(entry->d_name);
        if (task == 0 || task == process || task == (pid_t)shared->writer || is_own(task)) continue;
        if (own_count < TASKS && trace(PTRACE_SEIZE, task, 0, 0) == 0) own_tasks[own_count++] = task;
    }
    closedir(tasks);
}

/* The processor stops the writer there; 0: nowhere.  False: it cannot. */
static bool break_at(unsigned long at) {
    const long number = offsetof(struct user, u_debugreg[0]), control = offsetof(struct user, u_debugreg[7]);
    pid_t task = (pid_t)shared->writer;
    if (at && trace(PTRACE_POKEUSER, task, number, (long)at) < 0) return false;
    return trace(PTRACE_POKEUSER, task, control, at ? 1 : 0) >= 0;
}

static void round_begins(void) {
    if (!program.begin) find_ranges();
    in_round = true;
    within = steps_window;
    new_in_round = false;
    runs_to_last = !steps_window && last && break_at(last);
    if (!steps_window) return;
    trace_own();
    for (int i = 0; i < own_count; i++) trace(PTRACE_INTERRUPT, own_tasks[i], 0, 0);
}

static void round_ends(void) {
    in_round = false;
    if (runs_to_last) break_at(0); /* it did not pass there */
    if (!new_in_round) last = 0;
    rounds_without = new_in_round || runs_to_last ? 0 : rounds_without + 1;
    runs_to_last = false;
    if (rounds_without == ROUNDS_WITHOUT) word_set(&shared->ended, 1);
}

static bool is_breakpoint(pid_t task) {
    siginfo_t about;
    return trace(PTRACE_GETSIGINFO, task, 0, (long)&about) == 0 && about.si_code == SI_KERNEL;
}

static void on_stop(pid_t task, int status) {
    int number = WSTOPSIG(status), event = status >> 16;
    if (task != (pid_t)shared->writer && !is_own(task) && own_count < TASKS) own_tasks[own_count++] = task;
    if (event || number != SIGTRAP) {
        go_on(task, event ? 0 : number);
        return;
    }
    if (task == (pid_t)shared->writer && is_breakpoint(task)) {
        if (in_round) round_ends();
        else round_begins();
    } else if (in_round && !new_in_round) {
        unsigned long at = program_counter(task);
        if (runs_to_last) break_at(0);
        runs_to_last = false;
        if (at && is_new(at)) stop_at(at);
    }
    go_on(task, 0);
}

__attribute__((noreturn)) static void end_with(int status) {
    bool good = status == 0 && load(&shared->late) == 0 && (shared->places > 0 || steps_window);
    printf("{\"places\": %u, \"calls\": %u, \"late\": %u, \"longest_ms\": %u, \"longest\": \"%s\", "
           "\"status\": %d}\n",
           shared->places, shared->calls, shared->late, shared->longest_ms, shared->longest, status);
    exit(good ? 0 : 1);
}

/* False: none now. */
static bool one_event(int options) {
    int status;
    pid_t task = (pid_t)raw_call(SYS_wait4, -1, (long)&status, __WALL | options, 0, 0);
    if (task == 0) return false;
    if (task < 0) give_up("wait4");
    if (WIFSTOPPED(status)) on_stop(task, status);
    else if (task == process) end_with(status);
    else forget_own(task);
    return true;
}

static void look_at_other_events(void) {
    while (one_event(WNOHANG)) continue;
}

static void debug(void) {
    while (!load(&shared->writer)) {
        pause_ms(1);
        one_event(WNOHANG);
    }
    if (trace(PTRACE_SEIZE, (pid_t)shared->writer, 0, PTRACE_O_TRACECLONE) < 0) give_up("PTRACE_SEIZE");
    word_set(&shared->traced, 1);
    for (;;) one_event(0);
}

int main(int count, char **words) {
    CHECK(count >= 5);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count == 6) { /* the victim, with the memory's number */
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(words[5]), 0);
        CHECK(shared != MAP_FAILED);
        victim(atoi(words[4]));
    }
    int memory = (int)raw_call(SYS_memfd_create, (long)"shared", 0, 0, 0, 0);
    char number[16];
    snprintf(number, sizeof number, "%d", memory);
    CHECK(raw_call(SYS_ftruncate, memory, sizeof *shared, 0, 0, 0) == 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    CHECK(shared != MAP_FAILED);
    steps_window = strcmp(words[1], "window") == 0;
    share = (unsigned long)atol(words[2]), of = (unsigned long)atol(words[3]);
    process = (pid_t)raw_fork();
    if (process == 0) {
        char *more[] = {words[0], words[1], words[2], words[3], words[4], number, NULL};
        raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        raw_call(SYS_personality, ADDR_NO_RANDOMIZE, 0, 0, 0, 0); /* a place has one address in all runs */
        raw_call(SYS_execve, (long)"/proc/self/exe", (long)more, (long)environ, 0, 0);
        raw_call(SYS_exit_group, 95, 0, 0, 0, 0);
    }
    debug();
}
