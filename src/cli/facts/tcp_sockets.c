/* SPDX-License-Identifier: MIT */
#include "tcp_sockets.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "columns.h"
#include "process_stat.h"

enum { MOST = 65536 };

struct list {
    struct tcp_socket *sockets;
    size_t count;
};

/* ---- descriptors ----------------------------------------------------- */

static bool descriptors(pid_t pid, struct list *l) {
    CLOSED_FOLDER *entries = process_folder(pid, "fd");
    if (!entries)
        return false;
    for (struct dirent *e; (e = readdir(entries)) && l->count < MOST;) {
        uint64_t fd, inode = process_socket(dirfd(entries), e->d_name);
        const char *number = e->d_name;
        if (inode && column_number(&number, 10, INT_MAX, &fd))
            ARRAY_ADD(l->sockets, l->count,
                      (struct tcp_socket){.fd = (int)fd, .inode = inode, .nodelay = -1, .cork = -1});
    }
    return true;
}

/* ---- the kernel's tables --------------------------------------------- */

static int by_inode(const void *a, const void *b) {
    const struct tcp_socket *x = a, *y = b;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static int by_fd(const void *a, const void *b) {
    const struct tcp_socket *x = a, *y = b;
    return x->fd < y->fd ? -1 : x->fd > y->fd;
}

/* Skips "0100007F:1F90": the address as words of 8 digits in the machine's byte order, then the port. */
static bool parse_address(const char **at, struct stats_address *a) {
    uint32_t words[4];
    uint64_t number;
    int count = 0;
    const char *text = *at + strspn(*at, " "), *colon = strchr(text, ':');
    for (; colon && text + 8 <= colon && count < 4; text += 8, count++) {
        const char word[] = {text[0], text[1], text[2], text[3], text[4],
                             text[5], text[6], text[7], '\0'};
        const char *digits = word;
        if (!column_number(&digits, 16, UINT32_MAX, &number))
            return false;
        words[count] = (uint32_t)number;
    }
    if (!colon || (count != 1 && count != 4))
        return false;
    *at = colon + 1;
    uint64_t port;
    if (!column_number(at, 16, UINT16_MAX, &port))
        return false;
    memset(a, 0, sizeof(*a));
    a->port = (uint16_t)port;
    bool mapped = count == 4 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
    a->family = count == 1 || mapped ? AF_INET : AF_INET6;
    if (a->family == AF_INET)
        memcpy(a->address, &words[count - 1], 4);
    else
        memcpy(a->address, words, 16);
    return true;
}

static void fill_in(const struct tcp_socket *found, struct list *l) {
    if (l->count == 0)
        return;
    struct tcp_socket *s = bsearch(found, l->sockets, l->count, sizeof(*l->sockets), by_inode);
    if (!s)
        return;
    while (s > l->sockets && s[-1].inode == found->inode)
        s--; /* several descriptors may refer to one socket */
    for (; s < l->sockets + l->count && s->inode == found->inode; s++) {
        s->known = true;
        s->local = found->local;
        s->peer = found->peer;
        s->state = found->state;
    }
}

static void table(pid_t pid, const char *which, struct list *l) {
    CLOSED_FILE *file = process_open(pid, which);
    FREED char *line = NULL;
    size_t size = 0;
    while (file && getline(&line, &size, file) > 0) {
        struct tcp_socket found;
        uint64_t state;
        const char *at = line;
        /* number, local, peer, state, tx:rx, timer, retransmissions, user, timeout, inode */
        if (columns_skip(&at, 1) && parse_address(&at, &found.local) &&
            parse_address(&at, &found.peer) && column_number(&at, 16, UINT_MAX, &state) &&
            columns_skip(&at, 5) && column_number(&at, 10, UINT64_MAX, &found.inode)) {
            found.state = (unsigned)state;
            fill_in(&found, l);
        }
    }
}

/* ---- options --------------------------------------------------------- */

static int option(int fd, int level, int which) {
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, level, which, &value, &size) == 0 ? value : -1;
}

/* Asks through a copy of the descriptor, which is closed at once.  The process is not stopped. */
static void options(pid_t pid, struct list *l) {
    CLOSED_FD process = (int)syscall(SYS_pidfd_open, pid, 0);
    for (size_t i = 0; process >= 0 && i < l->count; i++) {
        int fd = (int)syscall(SYS_pidfd_getfd, process, l->sockets[i].fd, 0);
        if (fd < 0)
            continue;
        l->sockets[i].nodelay = option(fd, IPPROTO_TCP, TCP_NODELAY);
        l->sockets[i].cork = option(fd, IPPROTO_TCP, TCP_CORK);
        close(fd);
    }
}

struct tcp_socket *tcp_sockets(pid_t pid, size_t *count) {
    struct list l = {NULL, 0};
    *count = SIZE_MAX;
    if (!descriptors(pid, &l))
        return NULL;
    if (l.count)
        qsort(l.sockets, l.count, sizeof(*l.sockets), by_inode);
    table(pid, "net/tcp", &l);
    table(pid, "net/tcp6", &l);
    *count = 0;
    for (size_t i = 0; i < l.count; i++)
        if (l.sockets[i].known)
            l.sockets[(*count)++] = l.sockets[i];
    l.count = *count;
    if (l.count)
        qsort(l.sockets, l.count, sizeof(*l.sockets), by_fd);
    options(pid, &l);
    return l.sockets;
}

const char *tcp_state_name(unsigned state) {
    static const char *const names[] = {
        [TCP_ESTABLISHED] = "established", [TCP_SYN_SENT] = "connecting",
        [TCP_SYN_RECV] = "accepting",      [TCP_FIN_WAIT1] = "closing",
        [TCP_FIN_WAIT2] = "closing",       [TCP_TIME_WAIT] = "closed",
        [TCP_CLOSE] = "not connected",     [TCP_CLOSE_WAIT] = "ended by the peer",
        [TCP_LAST_ACK] = "closing",        [TCP_LISTEN] = "listening",
        [TCP_CLOSING] = "closing",
    };
    return state < ARRAY_SIZE(names) && names[state] ? names[state] : "?";
}
