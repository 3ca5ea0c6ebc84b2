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
    int ends[2];
    udp_pair(ends);
    struct mmsghdr *messages = mmap(NULL, MESSAGES * sizeof *messages, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(messages != MAP_FAILED);
    for (int i = 0; i < MESSAGES; i++)
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &piece, .msg_iovlen = 1};
    CHECK(sendmmsg(ends[0], messages, MESSAGES, 0) == MESSAGES);
    mark(BEGIN);
    CHECK(sendmmsg(ends[0], messages, MESSAGES, 0) == MESSAGES);
    mark(END);
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    send_datagrams();
    close(fd);
    return report();
}
