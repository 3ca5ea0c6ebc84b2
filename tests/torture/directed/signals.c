/* SPDX-License-Identifier: MIT
 *
 * Signal handlers that write, that interrupt, that jump away.
 */
#include "directed.h"

#include <linux/sockios.h>
#include <setjmp.h>
#include <sys/time.h>

static struct pair shared;
static volatile sig_atomic_t alarms;

static void set_handler(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(SIGALRM, &action, NULL);
    alarms = 0;
}

static void alarm_after(unsigned ms, unsigned again_us) {
    struct itimerval timer = {.it_value = {ms / 1000, ms % 1000 * 1000L},
                              .it_interval = {0, again_us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* In a thread that no signal interrupts. */
static void *in_quiet_thread(void *(*run)(void *), void *argument) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    void *thread = in_thread(run, argument);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    return thread;
}

static void count_alarm(int number) {
    (void)number;
    alarms++;
}

/* ---- EINTR and SA_RESTART -------------------------------------------- */

struct interruption {
    struct pair theirs;
    int32_t task;
    bool restart;
    uint32_t returned; /* futex: the blocked call has */
};

/* Their end reads and answers when the call has returned, or is blocked again. */
static void *interrupt_and_answer(void *argument) {
    struct interruption *i = argument;
    is_blocked(i->task);
    raw(SYS_tgkill, getpid(), i->task, SIGALRM, 0, 0, 0);
    if (i->restart)
        is_blocked(i->task);
    else
        word_wait(&i->returned, 0);
    receive(&i->theirs, UINT64_MAX, 600);
    reply(&i->theirs, 10);
    return NULL;
}

/* A blocked write or read is interrupted; then their end does something. */
static void interrupted(bool writing, bool restart) {
    struct pair p = pair_warm(SMALL_BUFFERS);
    char answer[10];
    if (writing) {
        fcntl(p.ours, F_SETFL, O_NONBLOCK);
        fill_for_good(&p);
        overfill(&p);
        put_until_full(&p, 10);
        fcntl(p.ours, F_SETFL, 0);
    } else {
        put_all(&p, 30);
    }
    struct interruption i = {.theirs = {.ours = -1, .theirs = p.theirs, .received = p.received},
                             .task = own_task(),
                             .restart = restart};
    set_handler(count_alarm, restart ? SA_RESTART : 0);
    void *thread = in_quiet_thread(interrupt_and_answer, &i);
    ssize_t n = writing ? put(&p, 200) : recv(p.ours, answer, sizeof(answer), 0);
    int error = errno;
    word_set(&i.returned, 1);
    if (restart)
        CHECK(n == (writing ? 200 : 10), "%s with SA_RESTART: %zd (%s)", writing ? "write" : "recv", n,
              n < 0 ? strerror(error) : "");
    else
        CHECK((n == -1 && error == EINTR) || (writing && n > 0 && n < 200), "%s without SA_RESTART: %zd (%s)",
              writing ? "write" : "recv", n, n < 0 ? strerror(error) : "");
    CHECK(alarms == 1, "%d signals", (int)alarms);
    joined(thread);
    raw_sleep(window_ms() + 60);
    p.received = i.theirs.received;
    arrives(&p, 1000);
    if (!restart || writing)
        CHECK(recv(p.ours, answer, sizeof(answer), MSG_WAITALL) == 10, "no answer");
    exchange(&p);
}

static void waits_are_interrupted(void) {
    struct pair p = pair_warm(0);
    struct pollfd ready = {.fd = p.ours, .events = POLLIN};
    struct timespec longest = {.tv_sec = 100}, left = {0};
    for (int i = 0; i < 4; i++) {
        set_handler(count_alarm, i % 2 ? SA_RESTART : 0);
        void *thread = in_thread_once_blocked(own_task(), SIGALRM);
        put_all(&p, 30);
        int n = i < 2 ? poll(&ready, 1, 100000) : nanosleep(&longest, &left);
        CHECK(n == -1 && errno == EINTR && alarms == 1, "wait %d: %d, %d signals", i, n, (int)alarms);
        CHECK(i < 2 || (left.tv_sec < 100 && left.tv_sec > 50), "left: %ld s", (long)left.tv_sec);
        arrives(&p, 50);
        joined(thread);
    }
}

/* ---- a handler writes to the connection that it interrupted ----------- */

enum { NOTES = 65536 };
static volatile uint64_t completed; /* bytes of the main program, written by calls that have returned */
static uint64_t completed_at[NOTES]; /* ... when the handler wrote its n-th byte */

static void put_in_handler(int number) {
    (void)number;
    __atomic_store_n(&completed_at[alarms % NOTES], completed, __ATOMIC_RELEASE);
    if (write(shared.ours, "h", 1) == 1)
        alarms++;
}

/* Read to the end: every byte is either the main program's or the handler's, the main program's are in order,
 * and the handler's come behind all bytes of finished writes. */
struct both {
    int32_t blocked; /* a thread that is interrupted when it is blocked, before anything is read */
    uint64_t main_bytes, handler_bytes;
};

static void *read_both(void *argument) {
    static char buffer[65536];
    struct both *both = argument;
    long n;
    if (both->blocked) {
        is_blocked(both->blocked);
        raw(SYS_tgkill, getpid(), both->blocked, SIGALRM, 0, 0, 0);
        is_blocked(both->blocked); /* there is no room for the handler's byte either */
    }
    while ((n = raw(SYS_recvfrom, shared.theirs, (long)buffer, sizeof(buffer), 0, 0, 0)) > 0)
        for (long i = 0; i < n; i++) {
            if (buffer[i] == 'h') {
                uint64_t before =
                    __atomic_load_n(&completed_at[both->handler_bytes % NOTES], __ATOMIC_ACQUIRE);
                CHECK(both->main_bytes >= before, "a handler's byte overtook %llu bytes",
                      (unsigned long long)(before - both->main_bytes));
                both->handler_bytes++;
                continue;
            }
            CHECK(buffer[i] == (char)('A' + both->main_bytes % 26), "byte %llu of the main program is %c",
                  (unsigned long long)both->main_bytes, buffer[i]);
            both->main_bytes++;
        }
    CHECK(n == 0, "their end: %s", strerror((int)-n));
    return NULL;
}

static void check_both(void *thread, const struct both *both, uint64_t main_bytes) {
    close(shared.ours);
    joined(thread);
    CHECK(both->main_bytes == main_bytes && both->handler_bytes == (uint64_t)alarms,
          "%llu + %llu bytes arrived, %llu + %d were accepted", (unsigned long long)both->main_bytes,
          (unsigned long long)both->handler_bytes, (unsigned long long)main_bytes, (int)alarms);
}

/* The main program's stream from byte `at` on. */
static const char *letters(uint64_t at) {
    static char table[26 + 65536];
    for (size_t i = 0; table[sizeof(table) - 1] == 0 && i < sizeof(table); i++)
        table[i] = (char)('A' + i % 26);
    return table + at % 26;
}

static uint64_t put_letters(uint64_t at, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(shared.ours, letters(at + done), bytes - done);
        CHECK(n > 0 || errno == EINTR, "write: %s", strerror(errno));
        done += n > 0 ? (size_t)n : 0;
        completed = at + done;
    }
    return at + bytes;
}

static void handler_writes(void) {
    uint64_t at = completed = 0;
    struct both both = {0};
    shared = pair_warm(0);
    struct pair other = pair_warm(0);
    void *thread = in_quiet_thread(read_both, &both);
    set_handler(put_in_handler, SA_RESTART);
    alarm_after(1, 301);
    uint64_t until = now_ms() + 1200;
    while (now_ms() < until || alarms <= 100) {
        for (int i = 0; i < 20; i++)
            at = put_letters(at, 1 + (size_t)(at * 7 % 90));
        put_all(&other, 20); /* ends the turn */
        struct pollfd ready = {.fd = shared.ours, .events = POLLIN};
        poll(&ready, 1, 1);
    }
    alarm_after(0, 0);
    check_both(thread, &both, at);
    arrives(&other, 200);
}

/* The interrupted write is blocked: the buffer is full, and stays so for a while. */
static void handler_writes_while_blocked(void) {
    for (int round = 0; round < 3; round++) {
        struct both both = {.blocked = own_task()};
        uint64_t at = completed = 0;
        char answer[10];
        shared = pair_warm(SMALL_BUFFERS);
        reply(&shared, sizeof(answer));
        fcntl(shared.ours, F_SETFL, O_NONBLOCK);
        ssize_t n;
        for (int rest = 0; rest < 4; rest++, raw_sleep(500)) /* window probes find a little room */
            while ((n = write(shared.ours, letters(at), 650)) > 0)
                completed = at += (uint64_t)n;
        CHECK(recv(shared.ours, answer, sizeof(answer), 0) == sizeof(answer), "no answer");
        int room = send_buffer(&shared, WIDE_BUFFER); /* bytes that coalesce buffers now cannot leave */
        for (int i = 0; i < 5 && (n = write(shared.ours, letters(at), 10)) > 0; i++)
            completed = at += (uint64_t)n;
        send_buffer(&shared, room);
        fcntl(shared.ours, F_SETFL, 0);
        set_handler(put_in_handler, SA_RESTART);
        void *thread = in_quiet_thread(read_both, &both);
        at = put_letters(at, 9000);
        check_both(thread, &both, at);
        CHECK(alarms == 1, "%d bytes by the handler", (int)alarms);
        raw(SYS_close, shared.theirs, 0, 0, 0, 0, 0);
    }
}

/* ---- a handler jumps away -------------------------------------------- */

static sigjmp_buf back;

static void jump(int number) {
    (void)number;
    alarms++;
    siglongjmp(back, 1);
}

static void *exchange_in_thread(void *unused) {
    (void)unused;
    for (int i = 0; i < 3; i++)
        exchange(&shared);
    return NULL;
}

static void block_in(int how) {
    char byte;
    struct pollfd ready = {.fd = shared.ours, .events = POLLIN};
    struct timespec forever = {.tv_sec = 100};
    switch (how) {
    case 0:
        recv(shared.ours, &byte, 1, 0);
        break;
    case 1:
        poll(&ready, 1, -1);
        break;
    case 2:
        nanosleep(&forever, NULL);
        break;
    default:
        for (;;) /* until the buffer is full */
            if (put(&shared, how == 3 ? 1 : 3000) < 0)
                fail("write: %s", strerror(errno));
    }
    fail("the call came back");
}

static void jump_from_a_blocked_call(void) {
    for (volatile int how = 0; how < 5; how++) {
        shared = pair_warm(how < 3 ? 0 : SMALL_BUFFERS);
        set_handler(jump, how % 2 ? SA_RESTART : 0);
        void *thread = in_thread_once_blocked(own_task(), SIGALRM);
        put_all(&shared, 40);
        if (sigsetjmp(back, 1) == 0)
            block_in(how);
        joined(thread);
        resynchronise(&shared, 200000);
        exchange(&shared);
        joined(in_quiet_thread(exchange_in_thread, NULL));
        pair_ends(&shared, 300);
    }
}

/* Their end reads the uncounted bytes, up to the mark behind them. */
enum { MARK = '!' };

static void *swallow(void *argument) {
    static char buffer[65536];
    uint64_t *marked_at = argument;
    for (;;) {
        long n = raw(SYS_recvfrom, shared.theirs, (long)buffer, sizeof(buffer), 0, 0, 0);
        CHECK(n > 0 || n == -EINTR, "their end: %ld", n);
        char *mark = n > 0 ? memchr(buffer, MARK, (size_t)n) : NULL;
        if (!mark)
            continue;
        CHECK(mark == buffer + n - 1, "%d bytes behind the mark", (int)(buffer + n - 1 - mark));
        *marked_at = now_ms();
        return NULL;
    }
}

/* Nothing is kept in the kernel for longer than the window, and nothing comes behind
 * the bytes written now. */
static void nothing_is_kept(void *reader, const uint64_t *marked_at) {
    int unsent = -1;
    raw_sleep(window_ms() + 60);
    raw(SYS_ioctl, shared.ours, SIOCOUTQNSD, (long)&unsent, 0, 0, 0);
    CHECK_TIME(unsent == 0, "%d bytes kept for %u ms", unsent, window_ms() + 60);
    uint64_t before = now_ms();
    CHECK(write(shared.ours, &(char){MARK}, 1) == 1, "write: %s", strerror(errno));
    joined(reader);
    CHECK_TIME(*marked_at < before + window_ms() + 60, "the last byte was kept for %d ms",
               (int)(*marked_at - before));
    shared.received = shared.put;
}

/* Jumps at any moment of a busy writer leave no lock behind. */
static void jump_from_anywhere(void) {
    static uint64_t marked_at;
    static volatile int jumps;
    shared = pair_warm(0);
    void *reader = in_quiet_thread(swallow, &marked_at);
    set_handler(jump, 0);
    if (sigsetjmp(back, 1) != 0)
        jumps++;
    if (jumps < 2000) {
        if (jumps == 0)
            alarm_after(1, 211);
        for (;;) {
            struct pollfd ready = {.fd = shared.ours, .events = POLLIN};
            for (int i = 0; i < 6; i++)
                if (write(shared.ours, content(0), 20) < 0)
                    fail("write: %s", strerror(errno));
            poll(&ready, 1, 0);
            recv(shared.ours, (char[1]){0}, 1, MSG_DONTWAIT);
        }
    }
    alarm_after(0, 0);
    signal(SIGALRM, SIG_IGN);
    nothing_is_kept(reader, &marked_at);
    for (int i = 0; i < 3; i++)
        exchange(&shared);
    joined(in_thread(exchange_in_thread, NULL));
    pair_ends(&shared, 300);
}

/* A handler may as well end its thread (write(2) and poll(2) are async-signal-safe). */
static void end_thread(int number) {
    (void)number;
    pthread_exit(NULL);
}

static void *write_for_ever(void *argument) {
    uint32_t *begun = argument;
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    word_set(begun, 1);
    for (;;) {
        struct pollfd none = {.fd = -1};
        for (int i = 0; i < 6; i++)
            if (write(shared.ours, content(0), 20) < 0)
                fail("write: %s", strerror(errno));
        poll(&none, 1, 0);
    }
}

static void end_from_anywhere(void) {
    static uint64_t marked_at;
    struct sigaction action = {.sa_handler = end_thread};
    sigset_t mask;
    shared = pair_warm(0);
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    void *reader = in_thread(swallow, &marked_at);
    for (int i = 0; i < 1000; i++) {
        uint32_t begun = 0;
        void *thread = in_thread(write_for_ever, &begun);
        word_wait(&begun, 0);
        for (volatile int spin = i * 37 % 5000; spin > 0; spin--)
            ;
        pthread_kill((pthread_t)(uintptr_t)thread, SIGUSR1);
        joined(thread);
    }
    nothing_is_kept(reader, &marked_at);
    for (int i = 0; i < 3; i++)
        exchange(&shared);
    pair_ends(&shared, 300);
}

/* ---- the first hold comes from a handler: no malloc there -------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static volatile sig_atomic_t in_handler;
void *__libc_calloc(size_t count, size_t size);
void *__libc_malloc(size_t size);

void *calloc(size_t count, size_t size) {
    if (in_handler)
        fail("calloc in a signal handler");
    return __libc_calloc(count, size);
}

void *malloc(size_t size) {
    if (in_handler)
        fail("malloc in a signal handler");
    return __libc_malloc(size);
}

static void exchange_in_handler(int number) {
    (void)number;
    in_handler = 1;
    for (int i = 0; i < 5; i++)
        exchange(&shared);
    in_handler = 0;
    alarms++;
}

static void first_hold_in_a_handler(void) {
    shared = pair_make(0);
    set_handler(exchange_in_handler, 0);
    raise(SIGALRM);
    CHECK(alarms == 1, "the handler did not run");
    exchange(&shared);
}
#else
static void first_hold_in_a_handler(void) {
}
#endif

CASE("a blocked write is interrupted", interrupted(true, false))
CASE("a blocked write is restarted", interrupted(true, true))
CASE("a blocked read is interrupted", interrupted(false, false))
CASE("a blocked read is restarted", interrupted(false, true))
CASE("waits are interrupted", waits_are_interrupted())
CASE("a handler writes to the connection that it interrupted", handler_writes())
CASE("a handler writes while the write is blocked", handler_writes_while_blocked())
CASE("a handler jumps from a blocked call", jump_from_a_blocked_call())
CASE("a handler jumps from anywhere", jump_from_anywhere())
CASE("a handler ends its thread anywhere", end_from_anywhere())
CASE("the first hold in a handler", first_hold_in_a_handler())
