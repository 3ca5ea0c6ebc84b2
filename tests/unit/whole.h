/* SPDX-License-Identifier: MIT
 *
 * For tests that link all of the library but its exports: connections as
 * fd_events.c makes them, writes as the exports make them.  The kernel and the next in line only log their
 * calls (fake_kernel.h, fake_real.h).  The library takes the window's thread for running, but there is none:
 * only the test acts.
 */
#ifndef UNSTALL_WHOLE_H
#define UNSTALL_WHOLE_H

#include "fake_kernel.h"
#include "fake_real.h"
#include "shim.h"
#include "unit.h"

/* `settings` as in the environment, "UNSTALL_MODE=cork"; the last one is NULL. */
void whole_start(const char *const *settings);
void whole_start_in(enum mode mode);

/* A client's connection, its connect() over; nothing of it is in the log. */
struct conn *whole_connected(int fd);
/* ... which has written and been answered once before, so that auto knows it. */
struct conn *whole_warm(int fd);

ssize_t whole_write(int fd, const char *bytes);
ssize_t whole_send(int fd, const char *bytes, int flags);
/* A plain write of so many bytes, all the same. */
ssize_t whole_write_long(int fd, size_t bytes);
void whole_read(int fd, size_t bytes);

#endif
