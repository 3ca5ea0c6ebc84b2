/* SPDX-License-Identifier: MIT
 *
 * The calls of rings.c to liburing: linked into it, or a plugin of its own.
 */
#include <liburing.h>

int ring_make(void);
int ring_send(int fd, const void *bytes, unsigned count);
int ring_receive(int fd, void *bytes, unsigned count);

static struct io_uring ring;

int ring_make(void) {
    return io_uring_queue_init(8, &ring, 0);
}

static int outcome(void) {
    struct io_uring_cqe *done;
    if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &done) != 0)
        return -1;
    int result = done->res;
    io_uring_cqe_seen(&ring, done);
    return result;
}

int ring_send(int fd, const void *bytes, unsigned count) {
    io_uring_prep_send(io_uring_get_sqe(&ring), fd, bytes, count, 0);
    return outcome();
}

int ring_receive(int fd, void *bytes, unsigned count) {
    io_uring_prep_recv(io_uring_get_sqe(&ring), fd, bytes, count, 0);
    return outcome();
}
