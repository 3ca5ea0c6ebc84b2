/* SPDX-License-Identifier: MIT
 *
 * Exchanges over TCP; then datagrams, 64 by one sendmmsg, whose headers lie in a mapping.
 */
#include "client.h"
#include <sys/mman.h>

enum { MESSAGES = 64 };

static void send_datagrams(void)
{
    static struct iovec piece = {message, 10};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(bind(receiver, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockname(receiver, (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(sender, (struct sockaddr *)&address, sizeof address) == 0);
    struct mmsghdr *messages = mmap(NULL, MESSAGES * sizeof *messages, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(messages != MAP_FAILED);
    for (int i = 0; i < MESSAGES; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &piece, .msg_iovlen = 1};
    CHECK(sendmmsg(sender, messages, MESSAGES, 0) == MESSAGES);
    mark(BEGIN);
    CHECK(sendmmsg(sender, messages, MESSAGES, 0) == MESSAGES);
    mark(END);
}

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, exchange);
    send_datagrams();
    close(fd);
    return report();
}
