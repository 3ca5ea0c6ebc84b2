/* SPDX-License-Identifier: MIT
 *
 * A program that writes to a connection, and sends more by an io_uring, which no library sees: the peer
 * receives them in that order.
 */
#include "same.h"

#include <linux/io_uring.h>

static int ring;
static char *queue, *results;
static struct io_uring_params about;
static struct io_uring_sqe *requests;

static void *map_of_ring(size_t bytes, long offset) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset);
    NEED(at != MAP_FAILED);
    return at;
}

static void make_ring(void) {
    ring = (int)syscall(SYS_io_uring_setup, 2, &about);
    NEED(ring >= 0);
    queue = map_of_ring(about.sq_off.array + 2 * sizeof(uint32_t), IORING_OFF_SQ_RING);
    results = map_of_ring(about.cq_off.cqes + about.cq_entries * sizeof(struct io_uring_cqe),
                          IORING_OFF_CQ_RING);
    requests = map_of_ring(2 * sizeof(*requests), IORING_OFF_SQES);
}

/* As liburing: by a system call of its own. */
static void ring_sends(int fd, const char *text) {
    uint32_t *tail = (uint32_t *)(queue + about.sq_off.tail);
    uint32_t *last = (uint32_t *)(results + about.cq_off.tail);
    requests[0] = (struct io_uring_sqe){.opcode = IORING_OP_SEND, .fd = fd, .addr = (uintptr_t)text,
                                        .len = (uint32_t)strlen(text)};
    ((uint32_t *)(queue + about.sq_off.array))[*tail & 1] = 0;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    NEED(raw6(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) == 1);
    const struct io_uring_cqe *made = (struct io_uring_cqe *)(results + about.cq_off.cqes);
    say("the ring sent %d bytes", made[(*last - 1) & (about.cq_entries - 1)].res);
}

CASE(known_before_the_write) {
    make_ring();
    SAY(write(fd, "head", 4));
    ring_sends(fd, "body");
    SAY(write(fd, "more", 4));
    ring_sends(fd, "the end");
}

CASE(known_after_the_write) {
    SAY(write(fd, "head", 4));
    make_ring();
    ring_sends(fd, "body");
}

CASE(known_before_the_connection) {
    make_ring();
    int other = connection();
    for (int i = 0; i < EXCHANGES; i++)
        exchange(other);
    SAY(write(other, "head", 4));
    ring_sends(other, "body");
    close(other);
    peer_tells();
}
