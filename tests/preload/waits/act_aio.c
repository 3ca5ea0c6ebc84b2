/* SPDX-License-Identifier: MIT
 *
 * POSIX AIO on the connection that holds, and the wait for a request elsewhere.
 */
#include <aio.h>

#include "acts.h"

static char letter[] = "a";
static struct aiocb request = {.aio_buf = letter, .aio_nbytes = 1, .aio_lio_opcode = LIO_WRITE};
static struct aiocb *const list[1] = {&request};

static struct aiocb *of(int connection) {
    request.aio_fildes = connection;
    return &request;
}

static int listed(int connection) {
    of(connection);
    return lio_listio(LIO_NOWAIT, list, 1, NULL);
}

static int listed64(int connection) {
    of(connection);
    return lio_listio64(LIO_NOWAIT, (struct aiocb64 *const *)list, 1, NULL);
}

ACT(aio_read, NULL, 0, aio_read(of(connection)))
ACT(aio_read64, NULL, 0, aio_read64((struct aiocb64 *)of(connection)))
ACT(aio_write, NULL, 0, aio_write(of(connection)))
ACT(aio_write64, NULL, 0, aio_write64((struct aiocb64 *)of(connection)))
ACT(lio_listio, NULL, 0, listed(connection))
ACT(lio_listio64, NULL, 0, listed64(connection))

/* A read of an empty pipe is under way. */
static void pending(void) {
    int ends[2];
    if (pipe(ends) < 0 || aio_read(of(ends[0])) < 0)
        fail("aio_read");
}

#define MOMENT (&(struct timespec){.tv_nsec = WAIT_MS * 1000000L})

ACT(aio_suspend, pending, 0, aio_suspend((const struct aiocb *const *)list, 1, MOMENT))
ACT(aio_suspend64, pending, 0, aio_suspend64((const struct aiocb64 *const *)list, 1, MOMENT))
