/* SPDX-License-Identifier: MIT
 *
 * POSIX AIO on a connection, between writes: the bytes come in the order of the calls.
 */
#include "same.h"

#include <aio.h>
#include <time.h>

static char letters[] = "CDE";

/* glibc's thread ends when it has had nothing to do for so many seconds; 0 is taken for the usual one. */
__attribute__((constructor)) static void end_idle_thread_at_once(void) {
    aio_init(&(struct aioinit){.aio_threads = 20, .aio_num = 64, .aio_idle_time = -1});
}

static void done(struct aiocb *block) {
    const struct aiocb *list[1] = {block};
    struct timespec limit = {.tv_sec = 3};
    int error;
    while ((error = aio_error(block)) == EINPROGRESS)
        NEED(aio_suspend(list, 1, &limit) == 0);
    say("error %d, %ld bytes", error, (long)aio_return(block));
}

CASE(written_behind_others) {
    struct aiocb c = {.aio_fildes = fd, .aio_buf = letters, .aio_nbytes = 1};
    SAY(write(fd, "A", 1));
    SAY(write(fd, "B", 1));
    SAY(aio_write(&c));
    done(&c);
    SAY(write(fd, "D", 1));
    SAY(write(fd, "E", 1));
}

CASE(written_by_the_name_with_64) {
    struct aiocb64 c = {.aio_fildes = fd, .aio_buf = letters, .aio_nbytes = 1};
    SAY(write(fd, "A", 1));
    SAY(write(fd, "B", 1));
    SAY(aio_write64(&c));
    done((struct aiocb *)&c);
}

static void listed(int fd, int mode) {
    struct aiocb c = {.aio_fildes = fd, .aio_buf = letters, .aio_nbytes = 3,
                      .aio_lio_opcode = LIO_WRITE};
    struct aiocb none = {.aio_fildes = -1, .aio_lio_opcode = LIO_NOP};
    struct aiocb *list[3] = {NULL, &none, &c};
    SAY(write(fd, "A", 1));
    SAY(write(fd, "B", 1));
    SAY(lio_listio(mode, list, 3, NULL));
    done(&c);
    SAY(write(fd, "F", 1));
}

CASE(written_by_a_list) {
    listed(fd, LIO_WAIT);
}

CASE(written_by_a_list_in_time) {
    listed(fd, LIO_NOWAIT);
}

CASE(written_by_a_list_of_no_mode) {
    struct aiocb *list[1] = {(struct aiocb *)(void *)nowhere};
    SAY(lio_listio(7, list, 1, NULL));
    SAY(lio_listio(LIO_WAIT, NULL, 0, NULL));
}

CASE(answered) {
    char answer[9] = "";
    struct aiocb a = {.aio_fildes = fd, .aio_buf = answer, .aio_nbytes = 9};
    SAY(write(fd, "a request ", 10));
    SAY(write(fd, "in two", 6));
    SAY(aio_read(&a));
    peer_takes(16);
    raw3(SYS_write, peer, "an answer", 9);
    done(&a);
    say("%.9s", answer);
}

CASE(elsewhere) {
    int file = (int)raw2(SYS_memfd_create, "file", 0);
    struct aiocb c = {.aio_fildes = file, .aio_buf = letters, .aio_nbytes = 3};
    struct aiocb bad = {.aio_fildes = -1, .aio_buf = letters, .aio_nbytes = 3};
    SAY(write(fd, "A", 1));
    SAY(aio_write(&c));
    done(&c);
    SAY(aio_write(&bad));
    done(&bad);
    SAY(write(fd, "B", 1));
}
