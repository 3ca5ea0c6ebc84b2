/* SPDX-License-Identifier: MIT
 *
 * Exchanges, until the peer resets the connection. The program learns of it by a call that is no write, and
 * writes once more. The facts: the errno of that call, `met`, and of the write, `refused`.
 *
 * argv[5]  read | readv | recv | recvfrom | recvmsg | sendfile | splice | sendmmsg | option
 */
#include <sys/sendfile.h>

#include "client.h"

static int met_by(const char *way, int fd)
{
    char byte = 0;
    int file = open("/proc/self/exe", O_RDONLY), ends[2], value = 0;
    socklen_t length = sizeof value;
    struct iovec piece = {&byte, 1};
    struct mmsghdr messages[1] = {{.msg_hdr = {.msg_iov = &piece, .msg_iovlen = 1}}};
    CHECK(file >= 0 && pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    errno = 0;
    if (strcmp(way, "read") == 0) (void)!read(fd, &byte, 1);
    if (strcmp(way, "readv") == 0) (void)!readv(fd, &piece, 1);
    if (strcmp(way, "recv") == 0) (void)!recv(fd, &byte, 1, 0);
    if (strcmp(way, "recvfrom") == 0) (void)!recvfrom(fd, &byte, 1, 0, NULL, NULL);
    if (strcmp(way, "recvmsg") == 0) (void)!recvmsg(fd, &messages[0].msg_hdr, 0);
    if (strcmp(way, "sendfile") == 0) (void)!sendfile(fd, file, NULL, 100);
    if (strcmp(way, "splice") == 0) (void)!splice(ends[0], NULL, fd, NULL, 1, 0);
    if (strcmp(way, "sendmmsg") == 0) (void)!sendmmsg(fd, messages, 1, 0);
    if (strcmp(way, "option") == 0) {
        CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length) == 0);
        return value;
    }
    return errno;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    CHECK(argc == 6);
    int fd = connect_to(client);
    signal(SIGPIPE, SIG_IGN);
    exchange_all(fd, 0, client.count);
    tell_peer(client);
    await_error(fd);
    ADD_FACT("\"met\": %d", met_by(argv[5], fd));
    ssize_t sent = write(fd, message, 1);
    ADD_FACT("\"refused\": %d", sent < 0 ? errno : 0);
    return report();
}
