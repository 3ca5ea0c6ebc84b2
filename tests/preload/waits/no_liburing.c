/* SPDX-License-Identifier: MIT
 *
 * The names of liburing that set a ring up, without a ring: what matters to the
 * tests is that the call was seen, and not every kernel offers one.
 */
struct io_uring;
struct io_uring_params;

int io_uring_setup(unsigned entries, struct io_uring_params *params);
int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                               struct io_uring_params *params);

int io_uring_setup(unsigned entries, struct io_uring_params *params) {
    (void)entries, (void)params;
    return 1000;
}

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags) {
    (void)entries, (void)ring, (void)flags;
    return 0;
}

int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                               struct io_uring_params *params) {
    (void)entries, (void)ring, (void)params;
    return 0;
}
