/* SPDX-License-Identifier: MIT
 *
 * A thread is stopped inside the library, or a handler leaves it there by a way that no library sees.
 *
 * The bug: such a thread had a lock of ours.  A collector that stops the world by signals (libgc, D, Mono),
 * a crash reporter, a debugger, or a Lisp's time limit then left every other thread's write on that
 * connection, every fork, exit, exec and spawn to wait for ever, in every mode, `off` too; and in coalesce
 * bytes were lost.
 *
 *   stopped CASE [PLACES [FIRST]]
 *
 * The library is met at its own instructions: a few exchanges are made step by step to learn them, and then
 * others up to one of them: to PLACES of them, evenly, from the FIRST on; 0: to each.  Bare there are none,
 * and the handler is called between two writes.
 *
 * The writer and the main thread each write tokens of 8 bytes, which have a letter and a number.  The judge,
 * a process that no library sees, reads them until the end: those of each writer come in order, once, and
 * all whose write returned.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../harness/raw.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) fail("%s:%d: %s: %m", __FILE__, __LINE__, #condition); \
    } while (0)

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
    char line[300];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    line[n] = '\n';
    raw3(SYS_write, STDOUT_FILENO, line, n + 1);
    raw1(SYS_exit_group, 1);
    __builtin_unreachable();
}

#include "../harness/steps.h"

/* ---- tokens, and their judge --------------------------------------------- */

enum { TOKEN = 8, WRITER = 0, MAIN = 1, WRITERS = 2, MOST = 1 << 20, LIMIT_MS = 1000 };

static struct shared {
    uint32_t returned[WRITERS]; /* the number of the last token whose write returned */
    uint32_t skipped[WRITERS];  /* tokens whose write never returned: they may have come or not */
    uint32_t tokens;            /* that have come */
    uint32_t no_answers;        /* set before an end: a close with unread input would be a reset */
    uint32_t none_comes;        /* ... and the judge has seen it */
} *shared;

static int near_end; /* of the connection; the judge has the other */
static volatile bool closed;

static uint32_t load(const uint32_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static uint64_t now_ms(void) {
    struct timespec t;
    raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void pause_us(long us) {
    struct timespec t = {0, us * 1000};
    raw2(SYS_nanosleep, &t, 0);
}

static const char *token(int who, uint32_t number) {
    static char text[WRITERS][TOKEN + 1];
    snprintf(text[who], TOKEN + 1, "%c%06u\n", "wm"[who], number % 1000000);
    return text[who];
}

/* Reads until the end.  Answers each token with a byte, so that messages end. */
__attribute__((noreturn)) static void judge(int fd) {
    char text[TOKEN];
    uint32_t last[WRITERS] = {0}, missing[WRITERS] = {0};
    int on = 1;
    struct timeval moment = {0, 5000};
    raw6(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, RAW_ARG(&on), sizeof on, 0);
    raw6(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, RAW_ARG(&moment), sizeof moment, 0);
    for (size_t have = 0;;) {
        if (load(&shared->no_answers)) __atomic_store_n(&shared->none_comes, 1, __ATOMIC_RELEASE);
        long n = raw3(SYS_read, fd, text + have, TOKEN - have);
        if (n == -EAGAIN) continue;
        if (n <= 0 && have == 0) break;
        if (n <= 0) fail("the end came within a token: %.*s", (int)have, text);
        have += (size_t)n;
        if (have < TOKEN) continue;
        have = 0;
        int who = text[0] == 'w' ? WRITER : MAIN;
        uint32_t number = (uint32_t)strtoul(text + 1, NULL, 10);
        if ((text[0] != 'w' && text[0] != 'm') || number <= last[who])
            fail("%.7s came behind %c%06u", text, "wm"[who], last[who]);
        missing[who] += number - last[who] - 1;
        last[who] = number;
        __atomic_add_fetch(&shared->tokens, 1, __ATOMIC_RELEASE);
        if (!load(&shared->no_answers)) raw6(SYS_sendto, fd, RAW_ARG("k"), 1, MSG_NOSIGNAL, 0, 0);
    }
    for (int who = 0; who < WRITERS; who++) {
        if (last[who] < load(&shared->returned[who]))
            fail("%c%06u is the last of %u", "wm"[who], last[who], load(&shared->returned[who]));
        if (missing[who] > load(&shared->skipped[who])) fail("%u tokens are missing", missing[who]);
    }
    raw3(SYS_write, STDOUT_FILENO, "all came\n", 9);
    raw1(SYS_exit_group, 0);
    __builtin_unreachable();
}

static void connect_to_judge(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = (int)raw3(SYS_socket, AF_INET, SOCK_STREAM, 0);
    CHECK(raw3(SYS_bind, listener, &address, size) == 0 && raw2(SYS_listen, listener, 1) == 0);
    CHECK(raw3(SYS_getsockname, listener, &address, &size) == 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    if (raw_fork() == 0) judge((int)raw4(SYS_accept4, listener, 0, 0, 0));
    near_end = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(near_end, (struct sockaddr *)&address, size) == 0);
    raw1(SYS_close, listener);
}

/* ---- steps -------------------------------------------------------------- */

static void (*at_the_place)(void); /* what the handler does there */
#if defined(__x86_64__) || defined(__i386__)

/* Of the calls of an exchange that the writer makes, the one in which a place was first met. */
static short call_of[PLACES];
static int call_now; /* in this exchange, from 0 */
static bool learns;
static int stepped_call = -1;
static unsigned long place_now; /* where the handler is to be called; 0: nowhere */

static void on_trap(int number, siginfo_t *about, void *context) {
    (void)number, (void)about;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long at = (unsigned long)registers[PROGRAM_COUNTER];
    int saved = errno, known = place_count;
    no_step_while_blocked(registers);
    if (learns) {
        learn(at);
        if (place_count > known) call_of[known] = (short)call_now;
    } else if (at == place_now) {
        place_now = 0;
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        at_the_place();
    }
    errno = saved;
}

static bool is_stepped(void) {
    return learns || (call_now == stepped_call && place_now);
}

#define STEPPED(call) \
    __extension__({ \
        if (is_stepped()) step(true); \
        long result_ = (call); \
        if (is_stepped()) step(false); \
        call_now++; \
        result_; \
    })

static void exchange(void);

static void learn_places(void) {
    /* SA_NODEFER: a handler that leaves does not leave the signal blocked */
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    if (!find_text()) return;
    learns = true;
    for (int i = 0; i < 4; i++) exchange();
    learns = false;
    CHECK(place_count > 0);
}

static void steps_to(int place) {
    place_now = places[place];
    stepped_call = call_of[place];
}

#else

#define STEPPED(call) (call)
static int place_count;
static void learn_places(void) {}
static void steps_to(int place) { (void)place; }

#endif

/* ---- tokens of this process ------------------------------------------------ */

/* One token by one write, which is counted when it has returned. */
static void put(int who) {
    uint32_t number = load(&shared->returned[who]) + load(&shared->skipped[who]) + 1;
    const char *text = token(who, number);
    long sent = who == WRITER ? STEPPED(write(near_end, text, TOKEN)) : write(near_end, text, TOKEN);
    if (sent < 0 && errno == EBADF && closed) return;
    CHECK(sent == TOKEN);
    __atomic_add_fetch(&shared->returned[who], 1, __ATOMIC_RELEASE);
}

/* All that was written has come, or has not in time: what a thread holds that waits for nothing comes after
 * the kernel's own timer at the latest. */
static void comes(uint32_t tokens) {
    uint64_t until = now_ms() + LIMIT_MS;
    while (load(&shared->tokens) < tokens && now_ms() < until) pause_us(1000);
    if (load(&shared->tokens) < tokens) fail("%u of %u tokens came in time", load(&shared->tokens), tokens);
}

static uint32_t put_so_far(void) {
    return load(&shared->returned[WRITER]) + load(&shared->returned[MAIN]);
}

/* ---- the writer -------------------------------------------------------------- */

static void word_set(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    raw3(SYS_futex, word, FUTEX_WAKE, 1 << 30);
}

static void word_wait(uint32_t *word, uint32_t value) {
    for (uint32_t seen; (seen = load(word)) != value;) raw4(SYS_futex, word, FUTEX_WAIT, seen, 0);
}

/* Header and body, and an answer, if it is there. */
static void exchange(void) {
    char answers[64];
    struct pollfd input = {.fd = near_end, .events = POLLIN};
#ifdef PROGRAM_COUNTER
    call_now = 0;
#endif
    put(WRITER);
    put(WRITER);
    if (STEPPED(poll(&input, 1, 5)) > 0) STEPPED(recv(near_end, answers, sizeof answers, MSG_DONTWAIT));
}

enum { IDLE, GOES, DONE };
static uint32_t writer_does; /* IDLE, then GOES by the main thread, then DONE */
static int writers_place;
static uint32_t parked;      /* 1 while the writer is stopped at a place */
static pthread_t writer;

static void stop_here(void) {
    word_set(&parked, 1);
    word_wait(&parked, 0);
}

/* Where no library is in between, the place is behind the first write. */
static void exchange_to(int place) {
    if (!at_the_place || place_count) {
        if (place_count && at_the_place) steps_to(place);
        for (int i = 0; i < 3; i++) exchange();
    } else {
        put(WRITER);
        at_the_place();
        put(WRITER);
    }
}

static void *writer_runs(void *unused) {
    for (int i = 0; i < 8; i++) exchange();
    learn_places();
    word_set(&writer_does, DONE);
    for (;;) {
        word_wait(&writer_does, GOES);
        exchange_to(writers_place);
        word_set(&writer_does, DONE);
    }
    return unused;
}

static void start_writer(void) {
    CHECK(pthread_create(&writer, NULL, writer_runs, NULL) == 0);
    word_wait(&writer_does, DONE);
}

/* The writer goes to the place and stops there.  False: it does not pass there. */
static bool stops_at(int place) {
    at_the_place = stop_here;
    writers_place = place;
    word_set(&writer_does, GOES);
    while (!load(&parked) && load(&writer_does) != DONE) pause_us(50);
    return load(&parked);
}

static void goes_on(void) {
    word_set(&parked, 0);
    word_wait(&writer_does, DONE);
}

/* ---- calls of another thread: tests/abi/every_name_stopped.c makes those of every name ---------------- */

static int other_socket[2], file; /* a Unix pair; 8 bytes */
static char buffer[64];

static uint32_t next_token(void) {
    return load(&shared->returned[MAIN]) + 1;
}

/* A call that writes the next token. */
static void token_put(long sent) {
    if (sent == TOKEN) __atomic_add_fetch(&shared->returned[MAIN], 1, __ATOMIC_RELEASE);
    else fail("a write of a token returned %ld: %m", sent);
}

#define TEXT ((char *)token(MAIN, next_token()))

static void by_write(void) { token_put(write(near_end, TEXT, TOKEN)); }
static void by_send_more(void) { token_put(send(near_end, TEXT, TOKEN, MSG_MORE)); }
static void by_send_at_once(void) { token_put(send(near_end, TEXT, TOKEN, MSG_DONTWAIT)); }
static void by_number(void) { token_put(syscall(SYS_write, near_end, TEXT, (long)TOKEN)); }
/* Each token has a place of its own in the file: what was sent from there is read there by the peer. */
static void by_sendfile(void) {
    off_t from = (off_t)next_token() * TOKEN;
    raw6(SYS_pwrite64, file, RAW_ARG(TEXT), TOKEN, from, 0, 0);
    token_put(sendfile(near_end, file, &from, TOKEN));
}
static void by_splice(void) {
    int ends[2];
    CHECK(raw2(SYS_pipe2, ends, 0) == 0 && raw3(SYS_write, ends[1], TEXT, TOKEN) == TOKEN);
    token_put(splice(ends[0], NULL, near_end, NULL, TOKEN, 0));
    raw1(SYS_close, ends[0]);
    raw1(SYS_close, ends[1]);
}

static void by_read(void) { (void)!recv(near_end, buffer, sizeof buffer, MSG_DONTWAIT); }
static void by_poll(void) {
    struct pollfd both = {.fd = near_end, .events = POLLOUT};
    CHECK(poll(&both, 1, 1) == 1);
}
/* The application has never set it. */
static void by_getsockopt(void) {
    int value = -1;
    socklen_t size = sizeof value;
    CHECK(getsockopt(near_end, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0);
    if (value != 0) fail("TCP_NODELAY reads back as %d", value);
    CHECK(getsockopt(near_end, SOL_SOCKET, SO_ERROR, &value, &size) == 0 && value == 0);
}
static void by_setsockopt(void) {
    int value = 1;
    socklen_t size = sizeof value;
    CHECK(setsockopt(near_end, IPPROTO_TCP, TCP_NODELAY, &value, size) == 0);
    CHECK(getsockopt(near_end, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0 && value != 0);
    value = 0;
    CHECK(setsockopt(near_end, IPPROTO_TCP, TCP_NODELAY, &value, size) == 0);
    by_getsockopt();
}
static void by_other_options(void) {
    int value = 0;
    CHECK(setsockopt(near_end, IPPROTO_IP, IP_TOS, &value, sizeof value) == 0);
    CHECK(setsockopt(near_end, IPPROTO_TCP, TCP_CORK, &value, sizeof value) == 0);
    value = 200000;
    CHECK(setsockopt(near_end, SOL_SOCKET, SO_SNDBUF, &value, sizeof value) == 0);
}

/* A copy writes, is closed, and its number's next owner is no connection. */
static void by_dup(void) {
    int copy = dup(near_end), ours = near_end;
    CHECK(copy >= 0);
    near_end = copy;
    by_write();
    near_end = ours;
    CHECK(close(copy) == 0);
    int same = dup(other_socket[0]);
    CHECK(same == copy && write(same, "x", 1) == 1 && read(other_socket[1], buffer, 1) == 1);
    CHECK(close(same) == 0);
}
static void by_dup2(void) {
    int copy = fcntl(near_end, F_DUPFD_CLOEXEC, 100);
    CHECK(copy >= 100 && dup2(other_socket[0], copy) == copy);
    CHECK(write(copy, "x", 1) == 1 && read(other_socket[1], buffer, 1) == 1 && close(copy) == 0);
}
static void by_close_range(void) {
    CHECK(dup2(near_end, 500) == 500 && close_range(500, 600, 0) == 0);
}
static void by_scm_rights(void) {
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec one = {buffer, 1};
    struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), &near_end, sizeof(int));
    CHECK(sendmsg(other_socket[0], &message, 0) == 1 && recvmsg(other_socket[1], &message, 0) == 1);
    int copy, ours = near_end;
    memcpy(&copy, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    near_end = copy;
    by_write();
    near_end = ours;
    CHECK(close(copy) == 0);
}
static void by_socket(void) {
    int made = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in nowhere = {.sin_family = AF_INET, .sin_port = htons(1)};
    nowhere.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(made >= 0);
    connect(made, (struct sockaddr *)&nowhere, sizeof nowhere);
    CHECK(close(made) == 0);
}

static void child_is(pid_t child, int status) {
    int got;
    CHECK(child > 0 && waitpid(child, &got, 0) == child && got == status);
}
static void by_fork(void) {
    pid_t child = fork();
    if (child == 0) raw1(SYS_exit_group, 3);
    child_is(child, 3 << 8);
}
/* The child of a fork writes and ends. */
static void by_writing_child(void) {
    pid_t child = fork();
    if (child == 0) {
        by_write();
        _exit(0);
    }
    child_is(child, 0);
}
static void by_system(void) { CHECK(system("exit 5") == 5 << 8); }
static void by_sleep(void) { usleep(1); }
static void by_setuid(void) { CHECK(setuid(getuid()) == 0); }
static void by_prctl(void) { CHECK(prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == 0); }
static void by_unshare(void) { CHECK(unshare(CLONE_FS) == 0); }
static void by_file(void) { CHECK(pwrite(file, "12345678", 8, 0) == 8 && write(file, "", 0) == 0); }
static void by_failed_exec(void) {
    char *words[] = {(char[]){"none"}, NULL}, text[40];
    CHECK(execv("/does/not/exist", words) < 0);
    snprintf(text, sizeof text, "/proc/self/fd/%d", file);
    CHECK(execv(text, words) < 0); /* executable, but no program: ENOEXEC */
}

#define CALL(name) {#name, by_##name}
static const struct {
    const char *name;
    void (*make)(void);
} calls[] = {
    CALL(write), CALL(send_more), CALL(send_at_once), CALL(number), CALL(sendfile), CALL(splice), CALL(read),
    CALL(poll), CALL(getsockopt), CALL(setsockopt), CALL(other_options), CALL(dup), CALL(dup2),
    CALL(close_range), CALL(scm_rights), CALL(socket), CALL(fork), CALL(writing_child), CALL(system),
    CALL(sleep), CALL(setuid), CALL(prctl), CALL(unshare), CALL(file), CALL(failed_exec), CALL(write),
};
enum { CALLS = sizeof calls / sizeof *calls };

static void prepare_calls(void) {
    CHECK(raw4(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, other_socket) == 0);
    file = (int)raw2(SYS_memfd_create, "file", 0);
    CHECK(file >= 0);
}

static void make_call(int i, int place) {
    uint64_t before = now_ms();
    calls[i].make();
    uint64_t took = now_ms() - before;
    if (took >= LIMIT_MS)
        fail("LATE: %s took %d ms (place %d of %d)", calls[i].name, (int)took, place, place_count);
}

/* ---- the cases ----------------------------------------------------------------- */

static int first_place, most_places; /* which places of those that were learned */

static int place_step(void) {
    return most_places && place_count > most_places ? place_count / most_places : 1;
}

#define EACH_PLACE(place) \
    for (int place = first_place; place == first_place || place < place_count; place += place_step())

/* The writer stops at the first place that it passes, counted on from `first_place`. */
static void first_passed_place(void) {
    if (place_count) first_place %= place_count;
    while (!stops_at(first_place)) first_place = place_count ? (first_place + 1) % place_count : 0;
}

/* Each call returns in less than a second. */
static void all_calls(void) {
    prepare_calls();
    by_write(); /* two threads write: coalesce buffers no more, or a fork's child could overtake the buffer */
    EACH_PLACE(place) {
        if (!stops_at(place)) continue;
        for (int i = 0; i < CALLS; i++) make_call(i, place);
        goes_on();
        by_sleep(); /* a wait: nothing is held after it */
        comes(put_so_far());
    }
}

/* The first writes of another thread, while the writer may have buffered bytes.  They are put aside then. */
static void first_calls(void) {
    prepare_calls();
    first_passed_place();
    for (int i = 0; calls[i].make != by_scm_rights; i++) make_call(i, first_place);
    goes_on();
    by_sleep();
    comes(put_so_far());
}

/* A collector stops the writer at any instruction, writes, forks, and lets it go on. */
static sem_t stopped;
static uint32_t resumed;

static void on_stop(int number) {
    int saved = errno;
    uint32_t before = load(&resumed);
    (void)number;
    sem_post(&stopped);
    while (load(&resumed) == before) raw4(SYS_futex, &resumed, FUTEX_WAIT, before, 0);
    errno = saved;
}

static void a_collector(void) {
    enum { ROUNDS = 300 };
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    unsigned chance = 1;
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&stopped, 0, 0);
    prepare_calls();
    for (int i = 0; i < ROUNDS; i++) {
        if (load(&writer_does) != GOES) word_set(&writer_does, GOES);
        chance = chance * 1103515245 + 12345;
        pause_us(20 + (long)(chance >> 16) % 200);
        by_write();
        pthread_kill(writer, SIGUSR1);
        while (sem_wait(&stopped)) continue;
        make_call(i % CALLS, -1);
        word_set(&resumed, load(&resumed) + 1);
    }
    word_wait(&writer_does, DONE);
    by_sleep();
    comes(put_so_far());
}

/* A close with unread input would be a reset. */
static void end_answers(void) {
    char answers[256];
    word_set(&shared->no_answers, 1);
    while (!load(&shared->none_comes)) pause_us(1000);
    pause_us(10000);
    while (raw6(SYS_recvfrom, near_end, RAW_ARG(answers), sizeof answers, MSG_DONTWAIT, 0, 0) > 0) continue;
}

static void become_another_program(void) {
    execv("/bin/true", (char *[]){(char[]){"true"}, NULL});
}

/* The process ends, or becomes another program, while the writer is stopped: what was written comes, and at
 * once. */
static void ends(const char *how) {
    first_passed_place();
    end_answers();
    by_write();
    by_write();
    alarm(LIMIT_MS / 1000);
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "quick_exit") == 0) quick_exit(0);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "close") == 0) {
        closed = true;
        CHECK(close(near_end) == 0);
        alarm(0);
        goes_on();
        _exit(0);
    }
    if (strcmp(how, "exec") == 0) become_another_program();
    if (strcmp(how, "shutdown") == 0) {
        shutdown(near_end, SHUT_WR);
        CHECK(send(near_end, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE);
        _exit(0);
    }
}

/* ---- handlers that leave ---------------------------------------------------------- */

static void *outside[5]; /* __builtin_setjmp */
static ucontext_t outside_context, other_context, inside_context;
static volatile int left;
enum { STACK = 1 << 18 };
static char own_stack[STACK] __attribute__((aligned(64)));
static char *other_stack = own_stack;

static void jump_away(void) {
    left = 1;
    __builtin_longjmp(outside, 1);
}

static void set_context(void) {
    left = 1;
    setcontext(&outside_context);
}

/* A coroutine of the handler's thread writes, on another stack, and comes back: the interrupted write goes
 * on. */
static void on_the_other_stack(void) {
    for (;;) {
        for (int i = 0; i < 3; i++) by_write();
        by_poll();
        left = 2;
        swapcontext(&other_context, &inside_context);
    }
}

static void to_the_other_stack(void) {
    swapcontext(&inside_context, &other_context);
}

/* The main thread is interrupted at the place; its handler leaves.  The write beneath may have been made. */
static __attribute__((noinline)) void interrupted_at(int place) {
    exchange_to(place);
}

static bool deep; /* the calls before come from further below than those afterwards */

static __attribute__((noinline)) void interrupted_below(int place) {
    volatile char room[1 << 14] = {1};
    interrupted_at(place);
    room[1] = room[0];
}

static __attribute__((noinline)) void leave_by_jump(int place) {
    if (__builtin_setjmp(outside) == 0) {
        if (deep) interrupted_below(place);
        else interrupted_at(place);
    }
}

static __attribute__((noinline)) void leave_by_context(int place) {
    getcontext(&outside_context);
    if (!left) interrupted_at(place);
}

static void *writes_and_forks(void *unused) {
    int forks = 0;
    while (calls[forks].make != by_fork) forks++;
    for (int i = 0; load(&writer_does) != DONE; i++) {
        make_call(i % 2 ? 0 : forks, -1);
        pause_us(2000);
    }
    return unused;
}

/* The interrupted write has not returned. */
static void end_here(void) {
    __atomic_add_fetch(&shared->skipped[WRITER], 1, __ATOMIC_RELEASE);
    _exit(0);
}

static void exec_here(void) {
    __atomic_add_fetch(&shared->skipped[WRITER], 1, __ATOMIC_RELEASE);
    become_another_program();
}

/* A handler ends the process, or makes it another program, where it is inside the library. */
static void a_handler_ends(const char *how) {
    for (int i = 0; i < 8; i++) exchange();
    learn_places();
    at_the_place = strcmp(how, "exec") == 0 ? exec_here : end_here;
    end_answers();
    EACH_PLACE(place) interrupted_at(place);
}

/* Here the main thread is the writer, and another one has its part, but not where it is `alone`: then
 * coalesce buffers. */
static void leaves(const char *how) {
    pthread_t other;
    static bool stays, alone;
    stays = strcmp(how, "coroutine") == 0 || strcmp(how, "sibling") == 0;
    alone = stays || strstr(how, "alone");
    deep = strncmp(how, "deep", 4) == 0;
    prepare_calls();
    for (int i = 0; i < 8; i++) exchange();
    learn_places();
    at_the_place = stays ? to_the_other_stack : strncmp(how, "setcontext", 10) == 0 ? set_context : jump_away;
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = other_stack;
    other_context.uc_stack.ss_size = STACK;
    makecontext(&other_context, on_the_other_stack, 0);
    if (!alone) CHECK(pthread_create(&other, NULL, writes_and_forks, NULL) == 0);
    EACH_PLACE(place) {
        left = 0;
        if (stays) interrupted_at(place);
        else if (strncmp(how, "setcontext", 10) == 0) leave_by_context(place);
        else leave_by_jump(place);
        if (left == 1) __atomic_add_fetch(&shared->skipped[WRITER], 1, __ATOMIC_RELEASE);
        put(WRITER); /* the last one for a while */
        if (stays) by_sleep();
        else pause_us(300);
    }
    word_set(&writer_does, DONE);
    if (!alone) pthread_join(other, NULL);
    put(WRITER);
    pause_us(100000);
    comes(put_so_far());
    if (strstr(how, "and exit")) exit(0);
}

/* The same in a coroutine, and the handler's calls in another one, whose stack is above it: both are arrays
 * of one function. */
static void among_siblings(void) {
    leaves("sibling");
}

static void leaves_in_a_coroutine(void) {
    static ucontext_t here, lower;
    char stacks[2][STACK] __attribute__((aligned(64)));
    other_stack = stacks[1];
    getcontext(&lower);
    lower.uc_stack.ss_sp = stacks[0];
    lower.uc_stack.ss_size = STACK;
    lower.uc_link = &here;
    makecontext(&lower, among_siblings, 0);
    swapcontext(&here, &lower);
}

int main(int count, char **words) {
    CHECK(count >= 2);
    most_places = count > 2 ? atoi(words[2]) : 12;
    bool leaving = strncmp(words[1], "leave ", 6) == 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    connect_to_judge();
    if (!leaving) start_writer();
    first_place = count > 3 ? atoi(words[3]) : 0;
    if (strcmp(words[1], "leave sibling") == 0) leaves_in_a_coroutine();
    else if (strcmp(words[1], "leave end") == 0) a_handler_ends("_exit");
    else if (strcmp(words[1], "leave exec") == 0) a_handler_ends("exec");
    else if (leaving) leaves(words[1] + 6);
    else if (strcmp(words[1], "calls") == 0) all_calls();
    else if (strcmp(words[1], "first calls") == 0) first_calls();
    else if (strcmp(words[1], "collector") == 0) a_collector();
    else ends(words[1]);
    close(near_end);
    raw1(SYS_exit_group, 0);
}
