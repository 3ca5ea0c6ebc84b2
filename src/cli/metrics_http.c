/* SPDX-License-Identifier: MIT
 *
 * A small HTTP server for metrics: one thread, poll(2), bounded in everything that a
 * client can do: how many there are, how much they send, how long they take.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "metrics.h"

enum { CLIENTS = 16, REQUEST_MOST = 8192, PATIENCE_S = 10 };

struct client {
    int fd; /* -1: free */
    uint64_t serial;
    time_t until;
    size_t got;
    char request[REQUEST_MOST];
    char *answer; /* NULL: the request is still coming */
    size_t length, sent;
};

struct server {
    const char *folder;
    int listener, signals;
    uint64_t served;
    struct client client[CLIENTS];
};

static time_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static void forget(struct client *c) {
    close(c->fd);
    free(c->answer);
    c->fd = -1;
    c->answer = NULL;
}

/* ---- answers ---------------------------------------------------------- */

static void answer(struct client *c, const char *status, const char *type, const char *body,
                   size_t length, bool with_body) {
    FILE *out = open_memstream(&c->answer, &c->length);
    c->sent = 0;
    if (!out) {
        c->answer = NULL;
        return;
    }
    fprintf(out,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Connection: close\r\n\r\n",
            status, type, length);
    if (with_body)
        fwrite(body, 1, length, out);
    fclose(out);
}

static void answer_text(struct client *c, const char *status, const char *text, bool with_body) {
    answer(c, status, "text/plain; charset=utf-8", text, strlen(text), with_body);
}

static void answer_metrics(struct server *s, struct client *c, bool with_body) {
    bool open = strcasestr(c->request, "application/openmetrics-text") != NULL;
    struct segments segments;
    char *body = NULL;
    size_t length = 0;
    if (segments_open(&segments, s->folder, READ_ROWS, true) != 0) {
        answer_text(c, "503 Service Unavailable", "The folder cannot be read.\n", with_body);
        return;
    }
    FILE *out = open_memstream(&body, &length);
    bool written = out && metrics_write(out, &segments, open ? METRICS_OPEN : METRICS_TEXT);
    if (out)
        fclose(out);
    segments_close(&segments);
    if (written)
        answer(c, "200 OK",
               open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                    : "text/plain; version=0.0.4; charset=utf-8",
               body, length, with_body);
    else
        answer_text(c, "503 Service Unavailable", "No memory.\n", with_body);
    free(body);
}

static bool asks_for(const char *path, size_t length, const char *name) {
    return strlen(name) == length && memcmp(path, name, length) == 0;
}

static void answer_request(struct server *s, struct client *c) {
    bool head = strncmp(c->request, "HEAD ", 5) == 0;
    if (!head && strncmp(c->request, "GET ", 4) != 0) {
        answer_text(c, "405 Method Not Allowed", "GET or HEAD only.\n", true);
        return;
    }
    const char *path = c->request + (head ? 5 : 4);
    size_t length = strcspn(path, " ?\r\n");
    if (asks_for(path, length, "/metrics"))
        answer_metrics(s, c, !head);
    else if (asks_for(path, length, "/"))
        answer_text(c, "200 OK", "unstall " UNSTALL_VERSION ": see /metrics\n", !head);
    else
        answer_text(c, "404 Not Found", "See /metrics.\n", !head);
}

/* ---- clients ---------------------------------------------------------- */

/* Where all places are taken, who came first has had his time: idlers shut nobody out. */
static struct client *place(struct server *s) {
    struct client *oldest = &s->client[0];
    for (int i = 0; i < CLIENTS; i++) {
        if (s->client[i].fd < 0)
            return &s->client[i];
        if (s->client[i].serial < oldest->serial)
            oldest = &s->client[i];
    }
    forget(oldest);
    return oldest;
}

static void take(struct server *s) {
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct client *c = place(s);
    c->fd = fd;
    c->got = 0;
    c->serial = ++s->served;
    c->until = now() + PATIENCE_S;
}

static void receive(struct server *s, struct client *c) {
    ssize_t n = recv(c->fd, c->request + c->got, REQUEST_MOST - 1 - c->got, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        forget(c);
        return;
    }
    c->got += (size_t)n;
    c->request[c->got] = '\0';
    if (strstr(c->request, "\r\n\r\n") || strstr(c->request, "\n\n"))
        answer_request(s, c);
    else if (c->got == REQUEST_MOST - 1)
        answer_text(c, "431 Request Header Fields Too Large", "Too long.\n", true);
    else
        return;
    if (!c->answer)
        forget(c);
}

static void deliver(struct client *c) {
    ssize_t n = send(c->fd, c->answer + c->sent, c->length - c->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        c->sent += (size_t)n;
        c->until = now() + PATIENCE_S; /* slow is not idle */
    }
    if (n <= 0 || c->sent == c->length)
        forget(c);
}

/* ---- the loop --------------------------------------------------------- */

enum { LISTENER, SIGNALS, FIRST_CLIENT, POLLED = FIRST_CLIENT + CLIENTS };

/* Is anybody there? */
static bool prepare(const struct server *s, struct pollfd polled[POLLED]) {
    bool busy = false;
    for (int i = 0; i < CLIENTS; i++) { /* poll(2) passes over what is negative */
        const struct client *c = &s->client[i];
        busy |= c->fd >= 0;
        polled[FIRST_CLIENT + i] =
            (struct pollfd){.fd = c->fd, .events = c->answer ? POLLOUT : POLLIN};
    }
    polled[LISTENER] = (struct pollfd){.fd = s->listener, .events = POLLIN};
    polled[SIGNALS] = (struct pollfd){.fd = s->signals, .events = POLLIN};
    return busy;
}

static void serve(struct server *s) {
    struct pollfd polled[POLLED];
    for (;;) {
        bool busy = prepare(s, polled);
        if (poll(polled, POLLED, busy ? 1000 : -1) < 0) {
            if (errno == EINTR)
                continue;
            return;
        }
        if (polled[SIGNALS].revents)
            return;
        for (int i = 0; i < CLIENTS; i++) {
            struct client *c = &s->client[i];
            if (c->fd >= 0 && now() > c->until)
                forget(c);
            else if (c->fd >= 0 && polled[FIRST_CLIENT + i].revents)
                c->answer ? deliver(c) : receive(s, c);
        }
        if (polled[LISTENER].revents)
            take(s);
    }
}

/* ---- beginning -------------------------------------------------------- */

/* "9100", "0.0.0.0:9100", "[::]:9100" */
static bool parse(const char *where, char *host, size_t size, const char **port) {
    const char *colon = strrchr(where, ':');
    const char *from = where, *to = colon;
    *port = colon ? colon + 1 : where;
    if (!colon) {
        snprintf(host, size, "127.0.0.1");
        return true;
    }
    if (*from == '[' && to > from && to[-1] == ']') {
        from++;
        to--;
    } else if (memchr(from, ':', (size_t)(to - from))) {
        return false;
    }
    if (to <= from || (size_t)(to - from) >= size)
        return false;
    snprintf(host, size, "%.*s", (int)(to - from), from);
    return true;
}

static int listen_at(const char *where) {
    char host[64];
    const char *port;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE},
                    *found = NULL;
    long number = 0;
    if (!parse(where, host, sizeof(host), &port) ||
        !number_of("--listen: port", port, 0, 65535, &number) ||
        getaddrinfo(host, port, &hints, &found) != 0) {
        complain("--listen %s: expected PORT, ADDRESS:PORT or [ADDRESS]:PORT, as in 127.0.0.1:9105",
                 where);
        return -1;
    }
    int one = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, CLIENTS) != 0) {
        complain("--listen %s: %s", where, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static void say_where(int fd) {
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[64], port[16];
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        remark(strchr(host, ':') ? "http://[%s]:%s/metrics" : "http://%s:%s/metrics", host, port);
}

int metrics_serve(const char *folder, const char *where) {
    static struct server s;
    struct segments probe;
    sigset_t ends;
    if (segments_open(&probe, folder, READ_ROWS, true) != 0)
        return EXIT_OWN;
    segments_close(&probe);
    s.folder = folder;
    s.listener = listen_at(where);
    if (s.listener < 0)
        return EXIT_OWN;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    s.signals = signalfd(-1, &ends, SFD_CLOEXEC);
    if (s.signals < 0)
        return complain("signalfd: %s", strerror(errno));
    for (int i = 0; i < CLIENTS; i++)
        s.client[i].fd = -1;
    say_where(s.listener);
    serve(&s);
    for (int i = 0; i < CLIENTS; i++)
        if (s.client[i].fd >= 0)
            forget(&s.client[i]);
    close(s.signals);
    close(s.listener);
    return 0;
}
