/* SPDX-License-Identifier: MIT
 *
 *     torture-directed            lists the cases
 *     torture-directed CASE       runs one: exit code 0, or a sentence and 1
 */
#include "../../harness/raw.h"
#include "directed.h"

#include <linux/futex.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <sys/ioctl.h>

enum { TABLE = 1 << 20, SMALL_BUFFER = 8192, WARM_EXCHANGES = 6 };

static const char *case_name = "?";

/* ---- raw calls ------------------------------------------------------- */

long raw(long number, long a, long b, long c, long d, long e, long f) {
    return raw6(number, a, b, c, d, e, f);
}

uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void raw_sleep(unsigned ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    while (raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&t, (long)&t, 0, 0) == -EINTR)
        ;
}

void word_wait(uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        raw(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

void word_set(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    raw(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, 1000, 0, 0, 0);
}

/* ---- states that are waited for --------------------------------------- */

enum { PATIENCE_MS = 10000, SAME_MS = 20 };

void settles(const struct pair *p) {
    int unread = 0;
    for (uint64_t begin = now_ms(); p->received + (unsigned)unread < p->put; raw_sleep(1)) {
        raw(SYS_ioctl, p->theirs, FIONREAD, (long)&unread, 0, 0, 0);
        CHECK(now_ms() - begin < PATIENCE_MS, "%llu bytes accepted, %llu arrived",
              (unsigned long long)p->put, (unsigned long long)p->received + (unsigned)unread);
    }
}

static bool comes(const struct pair *p, short events) {
    struct pollfd state = {.fd = p->ours, .events = events};
    struct timespec limit = {.tv_sec = PATIENCE_MS / 1000};
    return raw(SYS_ppoll, (long)&state, 1, (long)&limit, 0, 8, 0) == 1;
}

void is_told(const struct pair *p) {
    CHECK(comes(p, POLLRDHUP), "neither an error nor the end comes");
}

void is_over(const struct pair *p) {
    CHECK(comes(p, 0), "no reset comes"); /* POLLERR and POLLHUP need not be asked for */
}

int32_t own_task(void) {
    return (int32_t)raw(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* proc_pid_syscall(5): number, arguments and place of the call; "running" if it does not sleep. */
static void call_of(int32_t task, char *line, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)task);
    long fd = raw(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    long n = fd < 0 ? fd : raw(SYS_read, fd, (long)line, (long)size - 1, 0, 0, 0);
    line[n > 0 ? n : 0] = '\0';
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

bool blocks(int32_t task) {
    char before[200], now[200] = "";
    uint64_t begin = now_ms();
    do {
        CHECK(now_ms() - begin < PATIENCE_MS, "a thread does not block: %s", now);
        call_of(task, before, sizeof(before));
        raw_sleep(SAME_MS);
        call_of(task, now, sizeof(now));
        if (now[0] == '\0')
            return false;
    } while (strcmp(before, now) != 0 || now[0] < '0' || now[0] > '9');
    return true;
}

void is_blocked(int32_t task) {
    CHECK(blocks(task), "a thread has not blocked: it has ended");
}

struct once_blocked {
    int32_t task;
    int number;
};

static void *signal_once_blocked(void *argument) {
    struct once_blocked *wanted = argument;
    is_blocked(wanted->task);
    raw(SYS_tgkill, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), wanted->task, wanted->number, 0, 0, 0);
    return NULL;
}

void *in_thread_once_blocked(int32_t task, int number) {
    static struct once_blocked wanted;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    wanted = (struct once_blocked){task, number};
    void *thread = in_thread(signal_once_blocked, &wanted);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return thread;
}

/* ---- judging --------------------------------------------------------- */

void fail(const char *format, ...) {
    char text[400];
    va_list arguments;
    int length = snprintf(text, sizeof(text), "%s: ", case_name);
    va_start(arguments, format);
    length += vsnprintf(text + length, sizeof(text) - (size_t)length, format, arguments);
    va_end(arguments);
    raw(SYS_write, STDERR_FILENO, (long)text, length, 0, 0, 0);
    raw(SYS_write, STDERR_FILENO, (long)"\n", 1, 0, 0, 0);
    raw(SYS_exit_group, 1, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

bool mode_is(const char *mode) {
    const char *now = getenv("LD_PRELOAD") ? getenv("UNSTALL_MODE") : "bare";
    return strcmp(now ? now : "auto", mode) == 0;
}

unsigned window_ms(void) {
    const char *us = getenv("UNSTALL_WINDOW_US");
    return us ? (unsigned)atoi(us) / 1000 : 1;
}

int within_window(void) {
    return (int)window_ms() + 60;
}

/* ---- pairs ----------------------------------------------------------- */

/* Out of the way: our numbers are reused as the next ones made. */
static int high(int fd) {
    int copy = (int)raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 100, 0, 0, 0);
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
    return copy;
}

static int raw_listener(struct sockaddr_in *address, int options) {
    socklen_t length = sizeof(*address);
    int low = (int)raw(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0);
    int fd = high(low);
    int small = SMALL_BUFFER, one = 1;
    if (options & SMALL_BUFFERS)
        raw(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVBUF, (long)&small, sizeof(small), 0);
    raw(SYS_setsockopt, fd, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof(one), 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(raw(SYS_bind, fd, (long)address, length, 0, 0, 0) == 0 &&
              raw(SYS_listen, fd, 4, 0, 0, 0, 0) == 0 &&
              raw(SYS_getsockname, fd, (long)address, (long)&length, 0, 0, 0) == 0,
          "no listener");
    return fd;
}

struct pair pair_make(int options) {
    struct sockaddr_in address;
    struct pair p = {0};
    int small = SMALL_BUFFER, listener = raw_listener(&address, options);
    bool unseen = options & UNSEEN;
    p.ours = unseen ? (int)raw(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0, 0)
                    : socket(AF_INET, SOCK_STREAM, 0);
    if (options & SMALL_BUFFERS)
        setsockopt(p.ours, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    CHECK((unseen ? raw(SYS_connect, p.ours, (long)&address, sizeof(address), 0, 0, 0)
                  : connect(p.ours, (struct sockaddr *)&address, sizeof(address))) == 0,
          "connect: %s", strerror(errno));
    p.theirs = high((int)raw(SYS_accept4, listener, 0, 0, SOCK_CLOEXEC, 0, 0));
    raw(SYS_close, listener, 0, 0, 0, 0, 0);
    CHECK(p.theirs > 0, "accept: %d", p.theirs);
    return p;
}

void reply(struct pair *p, size_t bytes) {
    long n = raw(SYS_sendto, p->theirs, (long)content(0), (long)bytes, MSG_NOSIGNAL, 0, 0);
    CHECK(n == (long)bytes, "their send returned %ld", n);
}

void exchange(struct pair *p) {
    char answer[100];
    put_all(p, 200);
    put_all(p, 100);
    if (p->theirs >= 0) {
        struct pollfd none = {.fd = -1};
        poll(&none, 1, 1); /* a wait: nothing is held after it */
        arrives(p, 2000);
        reply(p, sizeof(answer));
    }
    ssize_t n = recv(p->ours, answer, sizeof(answer), MSG_WAITALL);
    CHECK(n == sizeof(answer), "an answer of %zd bytes", n);
}

struct pair pair_warm(int options) {
    struct pair p = pair_make(options);
    for (int i = 0; i < WARM_EXCHANGES; i++)
        exchange(&p);
    return p;
}

const char *content(uint64_t offset) {
    static char table[2 * TABLE];
    if (!table[0]) {
        uint64_t z = 88172645463325252; /* xorshift64 (Marsaglia 2003) */
        for (size_t i = TABLE; i-- > 0;) {
            z ^= z << 13;
            z ^= z >> 7;
            z ^= z << 17;
            table[i] = table[i + TABLE] = (char)('0' + (z >> 32) % 64);
        }
    }
    return table + offset % TABLE;
}

ssize_t put(struct pair *p, size_t bytes) {
    ssize_t n = write(p->ours, content(p->put), bytes);
    if (n > 0)
        p->put += (uint64_t)n;
    return n;
}

void put_all(struct pair *p, size_t bytes) {
    ssize_t n = put(p, bytes);
    CHECK(n == (ssize_t)bytes, "write of %zu bytes returned %zd: %s", bytes, n, strerror(errno));
}

void put_until_full(struct pair *p, size_t bytes) {
    for (uint64_t before = p->put; p->put - before < (64 << 20);)
        if (put(p, bytes) < 0) {
            CHECK(errno == EAGAIN, "write to a full socket: %s", strerror(errno));
            return;
        }
    fail("the socket is never full");
}

void fill_for_good(struct pair *p) {
    uint64_t before;
    do {
        before = p->put;
        put_until_full(p, 700);
        put_until_full(p, 10);
        raw_sleep(500);
    } while (p->put != before);
}

int send_buffer(const struct pair *p, int bytes) {
    int before = 0;
    socklen_t length = sizeof(before);
    raw(SYS_getsockopt, p->ours, SOL_SOCKET, SO_SNDBUF, (long)&before, (long)&length, 0);
    if (raw(SYS_setsockopt, p->ours, SOL_SOCKET, SO_SNDBUFFORCE, (long)&bytes, sizeof(bytes), 0) < 0)
        raw(SYS_setsockopt, p->ours, SOL_SOCKET, SO_SNDBUF, (long)&bytes, sizeof(bytes), 0);
    return before / 2; /* the kernel doubles the value: socket(7) */
}

void fill_amid_messages(struct pair *p) {
    char answer[10];
    uint64_t before;
    reply(p, sizeof(answer));
    do { /* the peer's kernel makes a little room as it packs the data there */
        before = p->put;
        put_until_full(p, 700);
        put_until_full(p, 10);
        raw_sleep(20);
    } while (p->put != before);
    CHECK(recv(p->ours, answer, sizeof(answer), 0) == sizeof(answer), "no answer");
}

void overfill(struct pair *p) {
    fill_amid_messages(p);
    int room = send_buffer(p, WIDE_BUFFER);
    for (int i = 0; i < 4; i++)
        put(p, 100);
    send_buffer(p, room);
}

uint64_t receive(struct pair *p, uint64_t total, int ms) {
    static char buffer[65536];
    uint64_t until = now_ms() + (uint64_t)ms;
    while (p->received < total) {
        struct pollfd ready = {.fd = p->theirs, .events = POLLIN};
        int64_t left = (int64_t)(until - now_ms());
        struct timespec limit = {.tv_sec = left > 0 ? left / 1000 : 0,
                                 .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};
        if (raw(SYS_ppoll, (long)&ready, 1, (long)&limit, 0, 8, 0) <= 0 && left <= 0)
            return p->received;
        uint64_t most = total - p->received;
        long n = raw(SYS_recvfrom, p->theirs, (long)buffer,
                     (long)(most < sizeof(buffer) ? most : sizeof(buffer)), MSG_DONTWAIT, 0, 0);
        if (n == -EAGAIN || n == -EINTR)
            continue;
        CHECK(n > 0, "their end: %s after %llu bytes", n == 0 ? "the end" : strerror((int)-n),
              (unsigned long long)p->received);
        CHECK(memcmp(buffer, content(p->received), (size_t)n) == 0,
              "bytes %llu to %llu are wrong: %.20s instead of %.20s",
              (unsigned long long)p->received, (unsigned long long)p->received + (uint64_t)n,
              buffer, content(p->received));
        p->received += (uint64_t)n;
    }
    return p->received;
}

void arrives(struct pair *p, int ms) {
    receive(p, p->put, ms);
    CHECK_TIME(p->received == p->put, "%llu bytes accepted, %llu arrived within %d ms",
               (unsigned long long)p->put, (unsigned long long)p->received, ms);
}

void ends(struct pair *p, int ms) {
    char byte;
    arrives(p, ms);
    struct pollfd ready = {.fd = p->theirs, .events = POLLIN};
    struct timespec limit = {.tv_sec = PATIENCE_MS / 1000};
    raw(SYS_ppoll, (long)&ready, 1, (long)&limit, 0, 8, 0);
    long n = raw(SYS_recvfrom, p->theirs, (long)&byte, 1, MSG_DONTWAIT, 0, 0);
    CHECK(n == 0, "after %llu bytes their end read %ld, not the end", (unsigned long long)p->put, n);
}

void pair_close(struct pair *p) {
    close(p->ours);
    raw(SYS_close, p->theirs, 0, 0, 0, 0, 0);
}

void pair_ends(struct pair *p, int ms) {
    close(p->ours);
    ends(p, ms);
    raw(SYS_close, p->theirs, 0, 0, 0, 0, 0);
}

struct pair pair_overfilled(bool for_good) {
    struct pair p = pair_warm(SMALL_BUFFERS);
    fcntl(p.ours, F_SETFL, O_NONBLOCK);
    if (for_good)
        fill_for_good(&p);
    overfill(&p);
    return p;
}

/* Once the window has ended all has left ours, or will as soon as the kernel lets it. */
void resynchronise(struct pair *p, size_t most) {
    uint64_t sure = p->put, begin = now_ms();
    int unread;
    receive(p, sure, PATIENCE_MS);
    CHECK(p->received >= sure, "%llu accepted, %llu arrived", (unsigned long long)sure,
          (unsigned long long)p->received);
    receive(p, sure + most, (int)window_ms() + 200);
    do {
        CHECK(now_ms() - begin < 2 * PATIENCE_MS, "bytes stay in the kernel");
        raw_sleep(1);
        raw(SYS_ioctl, p->ours, SIOCOUTQ, (long)&unread, 0, 0, 0);
        p->put = receive(p, sure + most, 0);
    } while (unread > 0);
}

/* ---- threads --------------------------------------------------------- */

void *in_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, argument) == 0, "no thread");
    return (void *)(uintptr_t)thread;
}

void joined(void *thread) {
    pthread_join((pthread_t)(uintptr_t)thread, NULL);
}

/* ---- running --------------------------------------------------------- */

int main(int count, char **words) {
    for (const struct test_case *const *each = __start_cases; each < __stop_cases; each++) {
        const struct test_case *c = *each;
        if (count < 2) {
            puts(c->name);
        } else if (strcmp(words[1], c->name) == 0) {
            case_name = c->name;
            content(0);
            c->run();
            return 0;
        }
    }
    return count < 2 ? 0 : 2;
}
