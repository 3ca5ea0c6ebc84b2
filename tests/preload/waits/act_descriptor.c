/* SPDX-License-Identifier: MIT
 *
 * The life of descriptors: each call that closes the connection's only descriptor must
 * send buffered bytes first.
 */
#include "acts.h"

extern int other_close(int) SYMBOL("__close");
extern int other_dup2(int, int) SYMBOL("__dup2");
extern int plain_fcntl(int, int, ...) SYMBOL("fcntl");
extern int wide_fcntl(int, int, ...) SYMBOL("fcntl64");
extern int other_fcntl(int, int, ...) SYMBOL("__fcntl");

static int another;

static void another_file(void) {
    another = scratch_file();
}

ACT(close, NULL, 0, close(connection))
ACT(__close, NULL, 0, other_close(connection))
ACT(close_range, NULL, 0, close_range((unsigned)connection, (unsigned)connection, 0))
ACT(closefrom, NULL, 0, (closefrom(connection), 0))
ACT(syscall, NULL, 0, syscall(SYS_close, connection))
ACT(dup2, another_file, 0, dup2(another, connection))
ACT(__dup2, another_file, 0, other_dup2(another, connection))
ACT(dup3, another_file, 0, dup3(another, connection, O_CLOEXEC))

/* A write to a dup joins the hold, and the dup need not be classified. */
static long say_by(int descriptor) {
    return send(descriptor, "and more", 8, 0) + poll(NULL, 0, WAIT_MS);
}

static long say_by_dup2(int connection, int (*dup_)(int, int)) {
    return say_by(dup_(connection, 100));
}

ACT(dup, NULL, 0, say_by(dup(connection)))
ACT_AS(as_dup2, "dup2 of it", NULL, 0, say_by_dup2(connection, dup2))
ACT_AS(as__dup2, "__dup2 of it", NULL, 0, say_by_dup2(connection, other_dup2))
ACT_AS(as_dup3, "dup3 of it", NULL, 0, say_by(dup3(connection, 100, O_CLOEXEC)))
ACT_AS(as_fcntl, "fcntl of it", NULL, 0, say_by(plain_fcntl(connection, F_DUPFD, 100)))
ACT_AS(as_fcntl64, "fcntl64 of it", NULL, 0, say_by(wide_fcntl(connection, F_DUPFD_CLOEXEC, 100)))
ACT_AS(as__fcntl, "__fcntl of it", NULL, 0, say_by(other_fcntl(connection, F_DUPFD, 100)))
