/* SPDX-License-Identifier: MIT
 *
 * The peer of the tortured program: never preloaded, it reads every stream,
 * compares it byte for byte with the seed's, answers by the links' habits, and at each stream's end compares
 * its length with the results of the program's calls.
 *
 *     torture-peer MEMORY SEED TOO_LATE_MS
 *
 * Prints its two ports (fast, slow), serves until its standard input ends and
 * all streams have ended.  A byte that comes later than TOO_LATE_MS (0: never mind)
 * after its write returned, and than the machine itself is late, is a failure.
 * Then prints one JSON object and exits: 0 when all was well, 1 when not.
 */
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/epoll.h>

#include "both_ends.h"
#include "shared.h"

enum {
    SLOW_BUFFER = 16 * 1024,
    READ_AT_ONCE = LARGEST,
    PATIENCE_MS = 60000,  /* for streams that do not end */
    LATE_MS = 30,         /* counted */
    MOST_FAILURES = 20,
    LOOKS = 32,           /* at both ends of a stream, when a byte came late */
};

struct arrival {
    uint64_t end, when;
};

/* The kernel's words when a byte had come late. */
struct look {
    uint64_t from, to; /* bytes of the stream */
    char text[BOTH_ENDS];
};

struct stream {
    int fd;
    bool slow_port, named, ended;
    uint32_t link;
    char head[NAME_BYTES];
    uint64_t received, replied, resume_at;
    bool wants_room;
    struct arrival *arrivals;
    size_t arrival_count, arrival_room;
    uint32_t looked_up_to; /* records */
    uint32_t look_count;
    struct look look[LOOKS]; /* the last ones */
};

static struct shared *shared;
static struct stream *streams[LINKS];
static size_t stream_count, streams_open;
static int epoll;
static uint64_t randomness = 1, too_late_ms;

static struct {
    unsigned records, late, too_late, failures, broken;
    uint64_t bytes, latest_ns, noise_ns;
    char failure[MOST_FAILURES][BOTH_ENDS + 200], latest[BOTH_ENDS];
} found;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (found.failures < MOST_FAILURES)
        vsnprintf(found.failure[found.failures], sizeof(found.failure[0]), format, arguments);
    va_end(arguments);
    found.failures++;
}

/* ---- how late the machine itself is ---------------------------------- */

static void note_noise(uint64_t ns) {
    uint64_t most = __atomic_load_n(&found.noise_ns, __ATOMIC_RELAXED);
    while (ns > most && !__atomic_compare_exchange_n(&found.noise_ns, &most, ns, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
        ;
}

static void *measure_noise(void *unused) {
    (void)unused;
    for (;;) {
        struct timespec one = {.tv_nsec = 1000000};
        uint64_t before = now_ns();
        nanosleep(&one, NULL);
        note_noise(now_ns() - before - 1000000);
    }
    return NULL;
}

/* For how long the reading thread itself was kept from a processor since the last look. */
static void note_own_delay(void) {
    static int file = -2;
    static uint64_t before;
    char text[100] = "";
    unsigned long long ran = 0, waited = 0;
    if (file == -2)
        file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (pread(file, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return;
    if (before)
        note_noise(waited - before);
    before = waited;
}

/* ---- the end of a stream --------------------------------------------- */

static const char *looked_at(const struct stream *s, uint64_t end) {
    for (size_t i = 0; i < LOOKS; i++)
        if (end > s->look[i].from && end <= s->look[i].to)
            return s->look[i].text;
    return "nobody looked";
}

/* Each noted write against the arrival that completed it. */
static void judge_lateness(const struct stream *s, const struct link *link) {
    uint32_t records = link->records < RECORDS ? link->records : RECORDS;
    size_t at = 0;
    for (uint32_t i = 0; i < records; i++) {
        struct record record = link->record[i];
        while (at < s->arrival_count && s->arrivals[at].end < record.end)
            at++;
        if (at == s->arrival_count)
            return;
        if (record.when == 0 || s->arrivals[at].when <= record.when)
            continue;
        uint64_t late = s->arrivals[at].when - record.when;
        found.records++;
        if (late > found.latest_ns) {
            found.latest_ns = late;
            snprintf(found.latest, sizeof(found.latest), "%s", looked_at(s, record.end));
        }
        if (late > LATE_MS * UINT64_C(1000000))
            found.late++;
        if (too_late_ms && late > too_late_ms * UINT64_C(1000000) + 2 * found.noise_ns) {
            found.too_late++;
            fail("link %u: byte %llu arrived %llu ms after its write returned, at %.3f; %s", s->link,
                 (unsigned long long)record.end, (unsigned long long)(late / 1000000),
                 (double)s->arrivals[at].when / 1e6, looked_at(s, record.end));
        }
    }
}

static void judge_end(struct stream *s, int error) {
    if (!s->named) {
        if (error == 0 && s->received == 0)
            found.broken++; /* opened and closed without a word */
        else
            fail("a stream ended after %llu bytes (%s)", (unsigned long long)s->received,
                 strerror(error));
        return;
    }
    const struct link *link = &shared->link[s->link];
    uint64_t sent = __atomic_load_n(&link->sent, __ATOMIC_ACQUIRE) + link->claimed;
    uint32_t ending = __atomic_load_n(&link->ending, __ATOMIC_ACQUIRE);
    found.bytes += s->received;
    if (s->received > sent + link->unsure)
        fail("link %u: %llu bytes arrived, but only %llu were accepted", s->link,
             (unsigned long long)s->received, (unsigned long long)sent);
    if (ending == BROKEN) {
        found.broken++;
        return;
    }
    if (error)
        fail("link %u: %s at byte %llu", s->link, strerror(error), (unsigned long long)s->received);
    if (ending == OPEN)
        fail("link %u: ended at byte %llu, and the program did not say so", s->link,
             (unsigned long long)s->received);
    if (s->received < sent)
        fail("link %u: %llu bytes accepted, %llu arrived", s->link, (unsigned long long)sent,
             (unsigned long long)s->received);
    if (!link->small_buffers)
        judge_lateness(s, link);
}

static void stream_ends(struct stream *s, int error) {
    if (s->ended)
        return;
    s->ended = true;
    streams_open--;
    judge_end(s, error);
    close(s->fd);
    free(s->arrivals);
    s->arrivals = NULL;
}

/* ---- reading and answering ------------------------------------------- */

static void watch(struct stream *s, bool in, bool out) {
    struct epoll_event event = {.events = (in ? EPOLLIN : 0U) | (out ? EPOLLOUT : 0U),
                                .data.ptr = s};
    epoll_ctl(epoll, EPOLL_CTL_MOD, s->fd, &event);
}

/* Sends the answers that are due. False: the stream is broken. */
static bool answer(struct stream *s) {
    struct habits habits = habits_of(s->link);
    uint64_t total = reply_total(&habits, s->received);
    while (s->replied < total) {
        uint64_t piece = total - s->replied < LARGEST ? total - s->replied : LARGEST;
        ssize_t n = send(s->fd, reply_at(s->link, s->replied), piece, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            s->wants_room = true;
            watch(s, true, true);
            return true;
        }
        if (n < 0)
            return false;
        s->replied += (uint64_t)n;
    }
    if (s->wants_room)
        watch(s, true, false);
    s->wants_room = false;
    return true;
}

static void compare(struct stream *s, const char *bytes, size_t count) {
    size_t done = 0;
    while (done < count && s->received + done < NAME_BYTES) {
        s->head[s->received + done] = bytes[done];
        done++;
    }
    if (s->received + count >= NAME_BYTES && !s->named) {
        char name[NAME_BYTES + 1] = {0}, expected[NAME_BYTES];
        memcpy(name, s->head, NAME_BYTES);
        s->link = (uint32_t)strtoul(name, NULL, 10);
        stream_name(s->link % LINKS, expected);
        if (s->link >= shared->links || memcmp(name, expected, NAME_BYTES) != 0) {
            fail("a stream begins with %.8s: no link of that name", name);
            s->link = LINKS - 1;
        }
        s->named = true;
    }
    const char *expected = stream_at(s->link, s->received + done);
    if (done == count || !s->named || memcmp(bytes + done, expected, count - done) == 0)
        return;
    size_t wrong = done;
    while (bytes[wrong] == expected[wrong - done])
        wrong++;
    fail("link %u: byte %llu is wrong: %.24s instead of %.24s", s->link,
         (unsigned long long)(s->received + wrong), bytes + wrong, expected + wrong - done);
}

/* Bytes that have just come, late: ask both ends now, not at the stream's end. Bytes that waited here for
 * this reader are not the program's fault. */
static void look_at_late(struct stream *s, uint64_t before) {
    const struct link *link = &shared->link[s->link];
    struct arrival *arrival = &s->arrivals[s->arrival_count - 1];
    uint32_t records = __atomic_load_n(&link->records, __ATOMIC_ACQUIRE);
    struct look *look = NULL;
    for (; s->looked_up_to < records; s->looked_up_to++) {
        struct record record = link->record[s->looked_up_to];
        if (record.end > s->received)
            return;
        if (look || record.end <= before || record.when == 0 ||
            arrival->when < record.when + LATE_MS * UINT64_C(1000000))
            continue;
        look = &s->look[s->look_count++ % LOOKS];
        look->from = before;
        look->to = s->received;
        arrival->when -= both_ends(s->fd, look->text) * UINT64_C(1000000);
    }
}

static void note_arrival(struct stream *s) {
    if (s->arrival_count == s->arrival_room) {
        s->arrival_room = s->arrival_room ? 2 * s->arrival_room : 64;
        s->arrivals = realloc(s->arrivals, s->arrival_room * sizeof(*s->arrivals));
        if (!s->arrivals)
            abort();
    }
    s->arrivals[s->arrival_count++] = (struct arrival){s->received, now_ns()};
}

static void serve(struct stream *s) {
    static char buffer[READ_AT_ONCE + 1];
    size_t most = READ_AT_ONCE;
    if (s->slow_port)
        most = 1 + random_below(&randomness, 4096);
    ssize_t n = recv(s->fd, buffer, most, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        n = -1;
    else if (n <= 0) {
        int error = n < 0 ? errno : 0;
        stream_ends(s, error);
        return;
    }
    if (n > 0) {
        buffer[n] = '\0';
        compare(s, buffer, (size_t)n);
        s->received += (uint64_t)n;
        note_arrival(s);
        if (s->named && !s->slow_port)
            look_at_late(s, s->received - (uint64_t)n);
    }
    if (s->named && !answer(s)) {
        stream_ends(s, errno);
        return;
    }
    if (n > 0 && s->slow_port) {
        s->resume_at = now_ns() + random_below(&randomness, 3000000);
        watch(s, false, s->wants_room);
    }
}

/* ---- the loop -------------------------------------------------------- */

static int listen_on(int buffer, int *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (buffer)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 512) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        perror("torture-peer: listen");
        exit(2);
    }
    *port = ntohs(address.sin_port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    return fd;
}

static void accept_all(int listener, bool slow) {
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct stream *s = calloc(1, sizeof(*s));
        if (!s || stream_count == LINKS) {
            fail("too many streams");
            close(fd);
            free(s);
            return;
        }
        s->fd = fd;
        s->slow_port = slow;
        streams[stream_count++] = s;
        streams_open++;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

/* Wakes slow readers at the end of their pause. True: some still pause. */
static bool resume(void) {
    bool pausing = false;
    uint64_t now = now_ns();
    for (size_t i = 0; i < stream_count; i++) {
        struct stream *s = streams[i];
        if (s->ended || s->resume_at == 0)
            continue;
        if (s->resume_at <= now) {
            s->resume_at = 0;
            watch(s, true, s->wants_room);
        } else {
            pausing = true;
        }
    }
    return pausing;
}

static void report(void) {
    printf("{\"links\": %zu, \"broken\": %u, \"bytes\": %llu, \"judged\": %u, \"late\": %u, "
           "\"too_late\": %u, \"latest_ms\": %.1f, \"noise_ms\": %.1f, \"latest\": \"%s\", \"failures\": [",
           stream_count, found.broken, (unsigned long long)found.bytes, found.records, found.late,
           found.too_late, (double)found.latest_ns / 1e6, (double)found.noise_ns / 1e6,
           found.latest);
    for (unsigned i = 0; i < found.failures && i < MOST_FAILURES; i++) {
        printf("%s\"", i ? ", " : "");
        for (const char *p = found.failure[i]; *p; p++)
            putchar(*p == '"' || *p == '\\' || *p < ' ' ? '?' : *p);
        printf("\"");
    }
    printf("]}\n");
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "usage: torture-peer MEMORY SEED TOO_LATE_MS\n");
        return 2;
    }
    shared = shared_map(words[1]);
    streams_init(strtoull(words[2], NULL, 10));
    too_late_ms = strtoull(words[3], NULL, 10);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int fast_port, slow_port;
    int fast = listen_on(0, &fast_port), slow = listen_on(SLOW_BUFFER, &slow_port);
    pthread_t noise;
    if (pthread_create(&noise, NULL, measure_noise, NULL) != 0)
        return 2;
    printf("%d %d\n", fast_port, slow_port);
    fflush(stdout);

    uint64_t over_at = 0;
    while (!over_at || streams_open > 0 || now_ns() < over_at - (PATIENCE_MS - 50) * UINT64_C(1000000)) {
        struct epoll_event events[64];
        int n = epoll_wait(epoll, events, 64, resume() ? 1 : 20);
        note_own_delay();
        accept_all(fast, false);
        accept_all(slow, true);
        for (int i = 0; i < n; i++)
            if (events[i].data.ptr)
                serve(events[i].data.ptr);
        struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
        if (!over_at && poll(&input, 1, 0) > 0)
            over_at = now_ns() + PATIENCE_MS * UINT64_C(1000000);
        if (over_at && now_ns() > over_at)
            break;
    }
    for (size_t i = 0; i < stream_count; i++)
        if (!streams[i]->ended)
            fail("link %u: did not end (%llu bytes arrived, %llu accepted)", streams[i]->link,
                 (unsigned long long)streams[i]->received,
                 (unsigned long long)shared->link[streams[i]->link].sent);
    if (stream_count != shared->links)
        fail("%zu streams arrived, %u were opened", stream_count, shared->links);
    report();
    return found.failures ? 1 : 0;
}
