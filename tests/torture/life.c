/* SPDX-License-Identifier: MIT
 *
 * Copies of descriptors, and numbers that are reused as something else:
 * bytes held for the old owner must not reach the new one.
 */
#include <linux/close_range.h>
#include <sys/mman.h>

#include "torture.h"

static const char first_words[] = "born ", last_words[] = "again";
enum { FIRST = sizeof(first_words) - 1, LAST = sizeof(last_words) - 1, HIGH = 300 };

/* ---- kinds of new descriptors ------------------------------------ */

/* Gives a descriptor to write to, and one from which the written bytes can be read. */
static int make_file(int *look) {
    int fd = memfd_create("torture", MFD_CLOEXEC);
    *look = dup(fd);
    return fd;
}

static int make_pipe(int *look) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    *look = ends[0];
    return ends[1];
}

static int make_udp(int *look) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    *look = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(*look, (struct sockaddr *)&address, length) != 0 ||
        getsockname(*look, (struct sockaddr *)&address, &length) != 0 ||
        connect(fd, (struct sockaddr *)&address, length) != 0)
        return -1;
    return fd;
}

static int make_unix(int *look) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    *look = ends[0];
    return ends[1];
}

static int (*const makers[])(int *) = {make_file, make_pipe, make_udp, make_unix};
enum { MAKERS = sizeof(makers) / sizeof(makers[0]) };

static size_t look_into(int look, uint32_t kind, char *buffer, size_t room) {
    size_t total = 0;
    ssize_t n = 0;
    if (kind == 0)
        return (n = pread(look, buffer, room, 0)) > 0 ? (size_t)n : 0;
    fcntl(look, F_SETFL, O_NONBLOCK);
    while (total < room && (n = read(look, buffer + total, room - total)) > 0)
        total += (size_t)n;
    return total;
}

/* The number `fd` is something else now: only our words may be in it. */
static void check_reborn(struct actor *a, int fd, int look, uint32_t kind) {
    char found[64];
    struct timespec longer = {.tv_nsec = 4000000};
    ssize_t first, last;
    do
        first = write(fd, first_words, FIRST);
    while (first < 0 && errno == EINTR);
    if (once_in(a, 2))
        nanosleep(&longer, NULL); /* the window ends meanwhile */
    do
        last = write(fd, last_words, LAST);
    while (last < 0 && errno == EINTR);
    size_t n = look_into(look, kind, found, sizeof(found));
    if (first != FIRST || last != LAST || n != FIRST + LAST ||
        memcmp(found, "born again", n) != 0)
        violation(a, NULL, "number %d, born again as kind %u, has %zu bytes: %.*s", fd, kind, n,
                  (int)n, found);
}

/* ---- closing --------------------------------------------------------- */

static void must_close(struct actor *a, struct link *link, int result) {
    if (result != 0)
        violation(a, link, "close of %d: %s", link->fd, strerror(errno));
}

static void close_plainly(struct actor *a, struct link *link) {
    uint32_t how = below(a, 4);
    switch (without & WITHOUT_UNSEEN_CLOSE ? 2 : how) {
    case 0:
        must_close(a, link, (int)syscall(SYS_close, link->fd));
        break;
    case 1:
        must_close(a, link, close_range((unsigned)link->fd, (unsigned)link->fd, 0));
        break;
    default:
        must_close(a, link, close(link->fd));
        break;
    }
}

static void close_and_reuse(struct actor *a, struct link *link, bool replace) {
    uint32_t kind = below(a, MAKERS);
    int look = -1, number = link->fd;
    if (!replace)
        close_plainly(a, link); /* the next one made gets the number, unless a thread was faster */
    int fd = makers[kind](&look);
    if (fd < 0)
        violation(a, link, "no descriptor of kind %u: %s", kind, strerror(errno));
    note(a, link, "%d becomes %d, kind %u", number, fd, kind);
    if (replace) {
        int made = once_in(a, 2) ? dup2(fd, number) : dup3(fd, number, O_CLOEXEC);
        if (made != number)
            violation(a, link, "dup2 to %d returned %d: %s", number, made, strerror(errno));
        close(fd);
        fd = number;
    }
    check_reborn(a, fd, look, kind);
    close(fd);
    close(look);
}

/* ... as another link, which goes on under the old number for a while. */
static void replace_by_link(struct actor *a, struct link *link) {
    struct link *other = link_open(a);
    int number = link->fd;
    note(a, other, "%d replaces %d", other->fd, number);
    if (dup2(other->fd, number) != number)
        violation(a, link, "dup2: %s", strerror(errno));
    close(other->fd);
    other->fd = number;
    put_all(a, other, 1 + below(a, 300), 0);
    op_exchange(a, other);
    link_settle(a, other);
    link_write_tail(a, other);
    __atomic_store_n(&other->ending, CLEAN, __ATOMIC_RELEASE);
    close_plainly(a, other);
}

void close_somehow(struct actor *a, struct link *link) {
    note(a, link, "close fd %d", link->fd);
    switch (below(a, 6)) {
    case 0:
        close_and_reuse(a, link, false);
        break;
    case 1:
    case 2:
        close_and_reuse(a, link, true);
        break;
    case 3:
        replace_by_link(a, link);
        break;
    default:
        close_plainly(a, link);
        break;
    }
}

/* ---- copies ---------------------------------------------------------- */

static int copy_of(struct actor *a, struct link *link) {
    int copy;
    switch (below(a, 4)) {
    case 0:
        copy = fcntl(link->fd, F_DUPFD_CLOEXEC, HIGH);
        break;
    case 1:
        copy = fcntl(link->fd, F_DUPFD, 0);
        break;
    case 2: /* into a number that was something else a moment ago */
        copy = memfd_create("torture", MFD_CLOEXEC);
        copy = copy < 0 ? -1 : dup2(link->fd, copy);
        break;
    default:
        copy = dup(link->fd);
        break;
    }
    if (copy < 0)
        violation(a, link, "a copy of %d: %s", link->fd, strerror(errno));
    return copy;
}

/* Some writes and reads through a copy, which then closes again. */
void op_copy(struct actor *a, struct link *link) {
    int own = link->fd, copy = copy_of(a, link);
    note(a, link, "copy %d", copy);
    put_all(a, link, 1 + below(a, 100), 0);
    link->fd = copy;
    op_put_small(a, link);
    if (once_in(a, 2))
        op_take(a, link);
    link->fd = own;
    if (once_in(a, 2))
        put_all(a, link, 1 + below(a, 100), 0);
    close(copy);
}

/* The link goes on under another number. */
void op_move(struct actor *a, struct link *link) {
    int copy = copy_of(a, link);
    note(a, link, "moves to %d", copy);
    if (once_in(a, 2))
        put_all(a, link, 1 + below(a, 100), 0);
    close_plainly(a, link);
    link->fd = copy;
}

/* ... and there by way of a Unix socket. */
void op_pass(struct actor *a, struct link *link) {
    int ends[2], arrived = -1;
    char byte = 'd';
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        violation(a, link, "socketpair: %s", strerror(errno));
    put_all(a, link, 1 + below(a, 100), 0);
    memcpy(CMSG_DATA(&control.header), &link->fd, sizeof(int));
    ssize_t n;
    while ((n = sendmsg(ends[0], &message, 0)) < 0 && errno == EINTR)
        ;
    bool early = once_in(a, 2);
    if (n == 1 && early)
        close_plainly(a, link);
    while (n == 1 && (n = recvmsg(ends[1], &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        n = 1;
    struct cmsghdr *header = n == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header)
        violation(a, link, "passing %d: %s", link->fd, strerror(errno));
    memcpy(&arrived, CMSG_DATA(header), sizeof(int));
    if (!early) {
        put_all(a, link, 1 + below(a, 100), 0);
        close_plainly(a, link);
    }
    note(a, link, "passed from %d to %d", link->fd, arrived);
    link->fd = arrived;
    close(ends[0]);
    close(ends[1]);
}
