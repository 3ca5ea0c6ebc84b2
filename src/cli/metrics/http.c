/* SPDX-License-Identifier: MIT */
#include "http.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "args.h"
#include "clock_ns.h"
#include "errors.h"

enum { CLIENTS = 16, REQUEST_MOST = 8192, IDLE_MOST_S = 10 };

struct client {
    int fd; /* -1: free */
    uint64_t serial;
    time_t deadline; /* of the next byte */
    size_t received;
    char request[REQUEST_MOST];
    char *answer; /* NULL: the request is not complete */
    size_t length, sent;
};

struct server {
    const struct http_page *page;
    int listener, signals;
    uint64_t accepted;
    struct client client[CLIENTS];
};

static time_t now(void) {
    return (time_t)(clock_ns(CLOCK_MONOTONIC) / 1000000000);
}

static void drop(struct client *c) {
    close(c->fd);
    free(c->answer);
    c->fd = -1;
    c->answer = NULL;
}

/* ---- answers ---------------------------------------------------------- */

static void answer(struct client *c, struct http_answer head, const char *body, size_t length,
                   bool with_body) {
    FILE *out = open_memstream(&c->answer, &c->length);
    c->sent = 0;
    if (!out) {
        c->answer = NULL;
        return;
    }
    fprintf(out,
            "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Connection: close\r\n\r\n",
            head.status, head.type, length);
    if (with_body)
        fwrite(body, 1, length, out);
    fclose(out);
}

static void answer_text(struct client *c, const char *status, const char *text, bool with_body) {
    answer(c, (struct http_answer){status, HTTP_PLAIN_TEXT}, text, strlen(text), with_body);
}

static void answer_page(const struct server *s, struct client *c, bool with_body) {
    char *body = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&body, &length);
    if (!out) {
        answer_text(c, HTTP_UNAVAILABLE, "No memory.\n", with_body);
        return;
    }
    struct http_answer head = s->page->render(out, c->request, s->page->context);
    fclose(out);
    answer(c, head, body, length, with_body);
    free(body);
}

static bool asks_for(const char *path, size_t length, const char *name) {
    return strlen(name) == length && memcmp(path, name, length) == 0;
}

static void answer_request(const struct server *s, struct client *c) {
    char text[128];
    bool head = strncmp(c->request, "HEAD ", 5) == 0;
    if (!head && strncmp(c->request, "GET ", 4) != 0) {
        answer_text(c, "405 Method Not Allowed", "GET or HEAD only.\n", true);
        return;
    }
    const char *path = c->request + (head ? 5 : 4);
    size_t length = strcspn(path, " ?\r\n");
    if (asks_for(path, length, s->page->path)) {
        answer_page(s, c, !head);
    } else if (asks_for(path, length, "/")) {
        snprintf(text, sizeof(text), "unstall " UNSTALL_VERSION ": see %s\n", s->page->path);
        answer_text(c, "200 OK", text, !head);
    } else {
        snprintf(text, sizeof(text), "See %s.\n", s->page->path);
        answer_text(c, "404 Not Found", text, !head);
    }
}

/* ---- clients ---------------------------------------------------------- */

/* A free slot.  When all are in use, the oldest client is dropped: idle clients cannot lock out others. */
static struct client *free_slot(struct server *s) {
    struct client *oldest = &s->client[0];
    for (int i = 0; i < CLIENTS; i++) {
        if (s->client[i].fd < 0)
            return &s->client[i];
        if (s->client[i].serial < oldest->serial)
            oldest = &s->client[i];
    }
    drop(oldest);
    return oldest;
}

static void accept_client(struct server *s) {
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct client *c = free_slot(s);
    c->fd = fd;
    c->received = 0;
    c->serial = ++s->accepted;
    c->deadline = now() + IDLE_MOST_S;
}

static void receive(const struct server *s, struct client *c) {
    ssize_t n = recv(c->fd, c->request + c->received, REQUEST_MOST - 1 - c->received, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(c);
        return;
    }
    c->received += (size_t)n;
    c->request[c->received] = '\0';
    if (strstr(c->request, "\r\n\r\n") || strstr(c->request, "\n\n"))
        answer_request(s, c);
    else if (c->received == REQUEST_MOST - 1)
        answer_text(c, "431 Request Header Fields Too Large", "Too long.\n", true);
    else
        return;
    if (!c->answer)
        drop(c);
}

static void deliver(struct client *c) {
    ssize_t n = send(c->fd, c->answer + c->sent, c->length - c->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        c->sent += (size_t)n;
        c->deadline = now() + IDLE_MOST_S; /* a slow reader is not idle */
    }
    if (n <= 0 || c->sent == c->length)
        drop(c);
}

/* ---- the loop --------------------------------------------------------- */

enum { LISTENER, SIGNALS, FIRST_CLIENT, POLLED = FIRST_CLIENT + CLIENTS };

/* Fills in the descriptors to poll.  True if there is a client, whose deadline must be watched. */
static bool prepare(const struct server *s, struct pollfd polled[POLLED]) {
    bool busy = false;
    for (int i = 0; i < CLIENTS; i++) { /* poll(2) ignores negative descriptors */
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
            if (c->fd >= 0 && now() > c->deadline)
                drop(c);
            else if (c->fd >= 0 && polled[FIRST_CLIENT + i].revents)
                c->answer ? deliver(c) : receive(s, c);
        }
        if (polled[LISTENER].revents)
            accept_client(s);
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
        !is_number(port, 0, 65535, &number) ||
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

static void say_where(int fd, const char *path) {
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[64], port[16];
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        remark(strchr(host, ':') ? "http://[%s]:%s%s" : "http://%s:%s%s", host, port, path);
}

int http_serve(const char *where, const struct http_page *page) {
    static struct server s;
    sigset_t ends;
    s.page = page;
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
    say_where(s.listener, page->path);
    serve(&s);
    for (int i = 0; i < CLIENTS; i++)
        if (s.client[i].fd >= 0)
            drop(&s.client[i]);
    close(s.signals);
    close(s.listener);
    return 0;
}
