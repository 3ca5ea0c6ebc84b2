/* SPDX-License-Identifier: MIT
 *
 * Writes with pointers that lead nowhere: the kernel's to refuse (EFAULT), on every kind of
 * descriptor, by libc's names and by syscall(2).
 */
#include "same.h"

#include <sys/sendfile.h>
#include <sys/un.h>

#define NOWHERE ((void *)nowhere)

/* A vector with a good first part and an unmapped rest. */
static struct iovec *half_a_vector(void) {
    struct iovec *v = (struct iovec *)(void *)end_of_memory - 1;
    *v = (struct iovec){known, 5};
    return v;
}

static int unix_stream(void) {
    int ends[2];
    NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    return ends[0];
}

static int datagrams(void) {
    struct sockaddr_in discard = {
        .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    NEED(connect(udp, (struct sockaddr *)&discard, sizeof(discard)) == 0);
    return udp;
}

static int pipe_end(void) {
    int ends[2];
    NEED(pipe(ends) == 0);
    return ends[1];
}

/* ---- buffers ---------------------------------------------------------- */

static void write_buffers(int to, void *buffer, size_t bytes) {
    SAY(write(to, buffer, bytes));
    SAY(send(to, buffer, bytes, MSG_NOSIGNAL));
    SAY(sendto(to, buffer, bytes, MSG_NOSIGNAL, NULL, 0));
    SAY(syscall(SYS_write, to, buffer, bytes));
    SAY(syscall(SYS_sendto, to, buffer, bytes, MSG_NOSIGNAL, NULL, 0));
}

CASE(buffer_nowhere) {
    write_buffers(fd, nowhere, 100);
}

CASE(buffer_nowhere_between_good_ones) {
    SAY(write(fd, "before ", 7));
    SAY(write(fd, nowhere, 7));
    SAY(write(fd, "between ", 8));
    SAY(write(fd, nowhere, 100000)); /* more than is ever buffered */
    SAY(write(fd, NULL, 7));
    SAY(write(fd, "behind ", 7));
}

CASE(buffer_that_is_half_there) {
    write_buffers(fd, end_of_memory - 50, 100);
}

CASE(buffer_that_ends_with_memory) {
    memcpy(end_of_memory - 11, "just within", 11);
    write_buffers(fd, end_of_memory - 11, 11);
}

CASE(buffer_with_a_hole) {
    write_buffers(fd, nowhere - 1000, (size_t)(read_only - nowhere) + 2000);
}

CASE(buffer_beyond_a_file) {
    int file = (int)raw2(SYS_memfd_create, "short", 0);
    NEED(raw2(SYS_ftruncate, file, 10) == 0);
    char *map = mmap(NULL, 3 * 4096, PROT_READ, MAP_SHARED, file, 0);
    NEED(map != MAP_FAILED);
    write_buffers(fd, map + 8192, 100);
}

CASE(buffer_at_the_end_of_everything) {
    write_buffers(fd, (void *)-8, 100);
}

CASE(buffers_of_other_kinds) {
    write_buffers(unix_stream(), nowhere, 100);
    write_buffers(datagrams(), nowhere, 100);
    write_buffers(pipe_end(), nowhere, 100);
    write_buffers(-1, nowhere, 100);
}

/* ---- vectors ---------------------------------------------------------- */

static void write_vectors(int to, void *vector, int count) {
    SAY(writev(to, vector, count));
    SAY(pwritev2(to, vector, count, -1, 0));
    SAY(pwritev2(to, vector, count, 0, 0));
    SAY(syscall(SYS_writev, to, vector, count));
    SAY(syscall(SYS_pwritev2, to, vector, count, -1L, 0L, 0));
    struct msghdr message = {.msg_iov = vector, .msg_iovlen = (size_t)count};
    SAY(sendmsg(to, &message, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmsg, to, &message, MSG_NOSIGNAL));
    struct mmsghdr two[2] = {{.msg_hdr = message}, {.msg_hdr = message}};
    SAY(sendmmsg(to, two, 2, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmmsg, to, two, 2, MSG_NOSIGNAL));
}

CASE(vector_nowhere) {
    write_vectors(fd, nowhere, 2);
}

CASE(vector_null) {
    write_vectors(fd, NULL, 2);
}

CASE(vector_that_is_half_there) {
    write_vectors(fd, half_a_vector(), 2);
}

CASE(vector_with_a_part_nowhere) {
    struct iovec parts[2] = {{known, 5}, {nowhere, 5}};
    write_vectors(fd, parts, 2);
}

CASE(vector_that_cannot_be_written) {
    write_vectors(fd, read_only, 2);
}

CASE(vector_outside_stack_and_heap) {
    struct iovec *v = (struct iovec *)(void *)known;
    char text[] = "two parts";
    v[0] = (struct iovec){text, 4};
    v[1] = (struct iovec){text + 4, 5};
    write_vectors(fd, v, 2);
}

CASE(vector_with_a_count_of_64_bits) {
    struct iovec parts[1] = {{known, 5}};
    SAY(syscall(SYS_writev, fd, parts, 0x100000001L));
    SAY(syscall(SYS_pwritev2, fd, parts, 0x100000001L, -1L, 0L, 0));
    SAY(syscall(SYS_writev, fd, parts, -1L));
    SAY(syscall(SYS_writev, fd, parts, 1025L));
}

CASE(vectors_of_other_kinds) {
    write_vectors(unix_stream(), nowhere, 2);
    write_vectors(datagrams(), nowhere, 2);
    write_vectors(pipe_end(), nowhere, 2);
    write_vectors(-1, nowhere, 2);
}

/* ---- messages --------------------------------------------------------- */

static void write_messages(int to, void *message) {
    SAY(sendmsg(to, message, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmsg, to, message, MSG_NOSIGNAL));
    SAY(sendmmsg(to, message, 1, MSG_NOSIGNAL));
    SAY(sendmmsg(to, message, 0xffffffff, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmmsg, to, message, 1, MSG_NOSIGNAL));
}

CASE(message_nowhere) {
    write_messages(fd, nowhere);
    write_messages(fd, NULL);
}

CASE(messages_of_other_kinds) {
    write_messages(unix_stream(), nowhere);
    write_messages(datagrams(), nowhere);
    write_messages(pipe_end(), nowhere);
    write_messages(-1, nowhere);
    write_messages(unix_stream(), NULL);
}

CASE(messages_of_which_the_second_is_nowhere) {
    char text[] = "the first";
    struct iovec part = {text, 9};
    struct mmsghdr *first = (struct mmsghdr *)(void *)end_of_memory - 1;
    first->msg_hdr = (struct msghdr){.msg_iov = &part, .msg_iovlen = 1};
    SAY(sendmmsg(fd, first, 2, MSG_NOSIGNAL));
    SAY(sendmmsg(unix_stream(), first, 2, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmmsg, fd, first, 2, MSG_NOSIGNAL));
}

static void write_control(int to, void *control, size_t bytes) {
    char text[] = "with control";
    struct iovec part = {text, 12};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = bytes};
    struct mmsghdr many = {.msg_hdr = message};
    SAY(sendmsg(to, &message, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmsg, to, &message, MSG_NOSIGNAL));
    SAY(sendmmsg(to, &many, 1, MSG_NOSIGNAL));
    SAY(syscall(SYS_sendmmsg, to, &many, 1, MSG_NOSIGNAL));
}

CASE(control_nowhere) {
    write_control(fd, nowhere, 64);
    write_control(unix_stream(), nowhere, 64);
    write_control(datagrams(), nowhere, 64);
    write_control(pipe_end(), nowhere, 64);
    write_control(-1, nowhere, 64);
}

CASE(control_that_is_half_there) {
    write_control(fd, end_of_memory - 24, 64);
    write_control(unix_stream(), end_of_memory - 24, 64);
}

CASE(control_of_a_length_beyond_memory) {
    write_control(fd, known, (size_t)-8);
    write_control(unix_stream(), known, (size_t)-8);
    write_control(unix_stream(), known, 1 << 20);
}

CASE(control_whose_header_is_too_long) {
    struct cmsghdr *h = (struct cmsghdr *)(void *)end_of_memory - 1;
    *h = (struct cmsghdr){.cmsg_len = 4096, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    write_control(fd, h, sizeof(*h));
    write_control(unix_stream(), h, sizeof(*h));
    h->cmsg_len = 0;
    write_control(fd, h, sizeof(*h));
    write_control(unix_stream(), h, sizeof(*h));
}

CASE(name_nowhere) {
    char text[] = "to nobody";
    struct iovec part = {text, 9};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_name = nowhere, .msg_namelen = 16};
    SAY(sendmsg(fd, &message, MSG_NOSIGNAL));
    SAY(sendmsg(unix_stream(), &message, MSG_NOSIGNAL));
    SAY(sendto(fd, text, 9, MSG_NOSIGNAL, NOWHERE, 16));
    SAY(sendto(datagrams(), text, 9, MSG_NOSIGNAL, NOWHERE, 16));
    SAY(syscall(SYS_sendto, fd, text, 9, MSG_NOSIGNAL, nowhere, 16));
}

/* ---- bytes of other descriptors --------------------------------------- */

CASE(offset_nowhere) {
    int file = open("/proc/self/exe", O_RDONLY), ends[2];
    NEED(pipe(ends) == 0 && write(ends[1], "spliced", 7) == 7);
    SAY(sendfile(fd, file, NOWHERE, 10));
    SAY(syscall(SYS_sendfile, fd, file, nowhere, 10));
    SAY(splice(ends[0], NOWHERE, fd, NULL, 7, 0));
    SAY(splice(ends[0], NULL, fd, NOWHERE, 7, 0));
    SAY(syscall(SYS_splice, ends[0], nowhere, fd, NULL, 7, 0));
    SAY(splice(ends[0], NULL, fd, NULL, 7, 0));
}
