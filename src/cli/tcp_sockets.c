/* SPDX-License-Identifier: MIT */
#include "tcp_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 65536, NAME = 64 };

struct list {
    struct tcp_socket *sockets;
    size_t count;
};

/* ---- descriptors ----------------------------------------------------- */

static bool add(struct list *l, int fd, uint64_t inode) {
    struct tcp_socket *more = reallocarray(l->sockets, l->count + 1, sizeof(*more));
    if (!more)
        return false;
    l->sockets = more;
    l->sockets[l->count++] =
        (struct tcp_socket){.fd = fd, .inode = inode, .nodelay = -1, .cork = -1};
    return true;
}

static bool descriptors(pid_t pid, struct list *l) {
    char folder[NAME], name[NAME + 32], target[64];
    snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
    DIR *entries = opendir(folder);
    if (!entries)
        return false;
    for (struct dirent *e; (e = readdir(entries)) && l->count < MOST;) {
        uint64_t inode;
        snprintf(name, sizeof(name), "%s/%.20s", folder, e->d_name);
        ssize_t n = readlink(name, target, sizeof(target) - 1);
        if (n <= 0)
            continue;
        target[n] = '\0';
        if (sscanf(target, "socket:[%" SCNu64 "]", &inode) == 1 && !add(l, atoi(e->d_name), inode))
            break;
    }
    closedir(entries);
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

/* "0100007F:1F90": words of the address in the machine's order, each 8 digits. */
static bool parse_address(const char *text, struct segment_address *a) {
    uint32_t words[4];
    int count = 0;
    const char *colon = strchr(text, ':');
    for (; colon && text + 8 <= colon && count < 4; text += 8, count++)
        if (sscanf(text, "%8" SCNx32, &words[count]) != 1)
            return false;
    unsigned port;
    if (!colon || (count != 1 && count != 4) || sscanf(colon, ":%x", &port) != 1)
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
        s--; /* several descriptors of one socket */
    for (; s < l->sockets + l->count && s->inode == found->inode; s++) {
        s->known = true;
        s->local = found->local;
        s->peer = found->peer;
        s->state = found->state;
    }
}

static void table(pid_t pid, const char *which, struct list *l) {
    char name[NAME], local[64], peer[64];
    snprintf(name, sizeof(name), "/proc/%d/net/%s", (int)pid, which);
    FILE *file = fopen(name, "re");
    char *line = NULL;
    size_t size = 0;
    while (file && getline(&line, &size, file) > 0) {
        struct tcp_socket found;
        if (sscanf(line, " %*d: %63s %63s %x %*s %*s %*s %*s %*s %" SCNu64, local, peer,
                   &found.state, &found.inode) == 4 &&
            parse_address(local, &found.local) && parse_address(peer, &found.peer))
            fill_in(&found, l);
    }
    free(line);
    if (file)
        fclose(file);
}

/* ---- options --------------------------------------------------------- */

static int option(int fd, int which) {
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, IPPROTO_TCP, which, &value, &size) == 0 ? value : -1;
}

/* By a descriptor of our own for a moment: the process is not stopped and notices nothing. */
static void options(pid_t pid, struct list *l) {
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    for (size_t i = 0; process >= 0 && i < l->count; i++) {
        int fd = (int)syscall(SYS_pidfd_getfd, process, l->sockets[i].fd, 0);
        if (fd < 0)
            continue;
        l->sockets[i].nodelay = option(fd, TCP_NODELAY);
        l->sockets[i].cork = option(fd, TCP_CORK);
        close(fd);
    }
    if (process >= 0)
        close(process);
}

struct tcp_socket *tcp_sockets(pid_t pid, size_t *count) {
    struct list l = {NULL, 0};
    *count = SIZE_MAX;
    if (!descriptors(pid, &l))
        return NULL;
    if (l.count)
        qsort(l.sockets, l.count, sizeof(*l.sockets), by_inode);
    table(pid, "tcp", &l);
    table(pid, "tcp6", &l);
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
    return state < sizeof(names) / sizeof(names[0]) && names[state] ? names[state] : "?";
}
