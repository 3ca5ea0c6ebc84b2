/* SPDX-License-Identifier: MIT
 *
 * sendmsg, sendmmsg and read; a descriptor sent to ourselves; requests of POSIX AIO that are refused.  All
 * headers, control data and requests lie in a mapping of their own, of which only the kernel can tell that it
 * may be read.
 */
#include "far.h"

static struct far *far;
static int ends[2];

static void exchange(int fd) {
    int arrived;
    CHECK(sendmsg(fd, header(far, message, HEADER), 0) == HEADER);
    header(far, message + HEADER, BODY);
    CHECK(sendmmsg(fd, &far->one, 1, 0) == 1 && far->one.msg_len == BODY);
    read_reply(fd);
    CHECK(sendmsg(ends[0], rights(far, ends[0]), 0) == 1);
    CHECK(recvmsg(ends[1], rights(far, ends[0]), 0) == 1);
    memcpy(&arrived, CMSG_DATA(&far->control.head), sizeof arrived);
    CHECK(arrived > ends[1] && close(arrived) == 0);
    far->request = (struct aiocb){.aio_fildes = fd, .aio_reqprio = -1, .aio_lio_opcode = LIO_NOP};
    far->list[0] = &far->request;
    CHECK(aio_write(&far->request) == -1 && errno == EINVAL);
    CHECK(lio_listio(LIO_NOWAIT, far->list, 1, NULL) == 0);
}

int main(int argc, char **argv) {
    far = far_mapping();
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client); /* the first descriptor, as in client_main() */
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    mark(END);
    return report();
}
