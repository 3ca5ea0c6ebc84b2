/* SPDX-License-Identifier: MIT
 *
 * sendmsg, sendmmsg and read; a descriptor sent to ourselves; requests of POSIX AIO that are refused.  All
 * headers, control data and requests lie in a mapping of their own, of which only the kernel can tell that it
 * may be read.
 */
#include <aio.h>
#include <sys/mman.h>
#include "client.h"

static struct far {
    struct mmsghdr one;
    struct iovec piece;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    struct aiocb request, *list[1];
} *far;

static int ends[2];

static struct msghdr *header(void *data, size_t length)
{
    far->piece = (struct iovec){data, length};
    far->one.msg_hdr = (struct msghdr){.msg_iov = &far->piece, .msg_iovlen = 1};
    return &far->one.msg_hdr;
}

static struct msghdr *rights(char *byte)
{
    struct msghdr *message = header(byte, 1);
    message->msg_control = &far->control;
    message->msg_controllen = sizeof far->control;
    far->control.head = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&far->control.head), &ends[0], sizeof(int));
    return message;
}

static void exchange(int fd)
{
    char byte = 'x';
    int arrived;
    CHECK(sendmsg(fd, header(message, HEADER), 0) == HEADER);
    header(message + HEADER, BODY);
    CHECK(sendmmsg(fd, &far->one, 1, 0) == 1 && far->one.msg_len == BODY);
    read_reply(fd);
    CHECK(sendmsg(ends[0], rights(&byte), 0) == 1);
    CHECK(recvmsg(ends[1], rights(&byte), 0) == 1);
    memcpy(&arrived, CMSG_DATA(&far->control.head), sizeof arrived);
    CHECK(arrived > ends[1] && close(arrived) == 0);
    far->request = (struct aiocb){.aio_fildes = fd, .aio_reqprio = -1, .aio_lio_opcode = LIO_NOP};
    far->list[0] = &far->request;
    CHECK(aio_write(&far->request) == -1 && errno == EINVAL);
    CHECK(lio_listio(LIO_NOWAIT, far->list, 1, NULL) == 0);
}

int main(int argc, char **argv)
{
    far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(far != MAP_FAILED);
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client); /* the first descriptor, as in client_main() */
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    run_exchanges(fd, client.count, exchange);
    close(fd);
    mark(END);
    return report();
}
