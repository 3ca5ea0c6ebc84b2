/* SPDX-License-Identifier: MIT
 *
 * POSIX AIO: threads of libc make the calls, which pass us by.  So the connection is marked as
 * untracked I/O before its first request is queued, and its buffered bytes are sent.
 *
 * libc itself follows the pointers to requests, in the calling thread and at once: a bad one is
 * SIGSEGV without us, too.  So nothing is asked before we follow them.
 */
#include "exports.h"

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "one layout, two names");

static void queues(const struct aiocb *block) {
    process_gets_threads();
    shim_untrack(block->aio_fildes);
}

#define QUEUES(name, type) \
    EXPORT FORWARD(queues((const struct aiocb *)block), int, name, (type * block), (block))

QUEUES(aio_read, struct aiocb)
QUEUES(aio_read64, struct aiocb64)
QUEUES(aio_write, struct aiocb)
QUEUES(aio_write64, struct aiocb64)

/* With a mode that libc does not know, libc refuses the call without a look at the list. */
void exports_queue_list(int mode, const struct aiocb *const list[], int count) {
    if (mode != LIO_WAIT && mode != LIO_NOWAIT)
        return;
    for (int i = 0; i < count; i++)
        if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)
            queues(list[i]);
    if (mode == LIO_WAIT)
        hold_end_turn(PUSH_WAIT);
}

EXPORT QUEUES_LIST(lio_listio, struct aiocb)
EXPORT QUEUES_LIST(lio_listio64, struct aiocb64)

#define SUSPENDS(name, type, times)                                                       \
    EXPORT FORWARD(if (!IS_ZERO(timeout, tv_nsec)) hold_end_turn(PUSH_WAIT), int, name,   \
                   (const type *const list[], int count, const struct times *timeout),    \
                   (list, count, timeout))

SUSPENDS(aio_suspend, struct aiocb, timespec)
SUSPENDS(aio_suspend64, struct aiocb64, timespec)
#ifdef WITH_TIME64
SUSPENDS(__aio_suspend_time64, struct aiocb, timespec64)
#endif
