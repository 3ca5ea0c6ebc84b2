/* SPDX-License-Identifier: MIT
 *
 * A connection is sent over a Unix socket pair and received again, while its old number is written to.
 *
 * argv[5]  early | late     received before the writes, or after them
 * argv[6]  open | closed    the old number when the new one is first asked
 *
 * Or both `child`: another process receives it, and asks once the old number is closed.
 */
#include "client.h"

static void exchanges(int fd, int first)
{
    for (int i = first; i < first + 2; i++) {
        next_message(i);
        two_writes(fd);
    }
}

/* A message with room for one descriptor. */
struct parcel {
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec piece;
    struct msghdr header;
};

static struct msghdr *wrap(struct parcel *p)
{
    memset(p, 0, sizeof *p);
    p->piece = (struct iovec){&p->byte, 1};
    p->header = (struct msghdr){.msg_iov = &p->piece, .msg_iovlen = 1, .msg_control = p->control,
                                .msg_controllen = sizeof p->control};
    return &p->header;
}

static void pass(int over, int fd)
{
    struct parcel parcel;
    struct cmsghdr *rights = CMSG_FIRSTHDR(wrap(&parcel));
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    CHECK(sendmsg(over, &parcel.header, 0) == 1);
}

static int receive(int over)
{
    int fd;
    struct parcel parcel;
    CHECK(recvmsg(over, wrap(&parcel), 0) == 1);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&parcel.header)), sizeof fd);
    return fd;
}

static int own_option(int fd)
{
    int value = -1;
    socklen_t length = sizeof value;
    CHECK(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &length) == 0);
    return value;
}

static int in_a_child(client_t client, int ends[2])
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        close(ends[0]);
        int fd = receive(ends[1]);
        CHECK(read(ends[1], &byte, 1) == 1);
        _exit(own_option(fd));
    }
    int fd = connect_to(client), status;
    exchanges(fd, 0);
    pass(ends[0], fd);
    exchanges(fd, 2);
    close(fd);
    CHECK(write(ends[0], "x", 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int in_this_process(client_t client, int ends[2], bool early, bool closed)
{
    int fd = connect_to(client), again = -1;
    exchanges(fd, 0);
    pass(ends[0], fd);
    if (early) again = receive(ends[1]);
    exchanges(fd, 2);
    if (!early) again = receive(ends[1]);
    if (closed) close(fd);
    int value = own_option(again);
    exchanges(again, 4);
    return value;
}

int main(int argc, char **argv)
{
    int ends[2];
    CHECK(argc == 7 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    client_t client = client_arguments(argc, argv);
    int value = strcmp(argv[5], "child") == 0
                    ? in_a_child(client, ends)
                    : in_this_process(client, ends, strcmp(argv[5], "early") == 0,
                                      strcmp(argv[6], "closed") == 0);
    ADD_FACT("\"nodelay\": %d", value);
    return report();
}
