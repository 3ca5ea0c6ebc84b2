/* SPDX-License-Identifier: MIT
 *
 * libc's headers for the names of the surface.  For a name that they lack (a double-underscore form, one of a
 * newer libc) our definition is its declaration.
 */
#ifndef UNSTALL_NAMES_H
#define UNSTALL_NAMES_H

#include <aio.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/fsuid.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

/* There are names with 64-bit times, too (_TIME_BITS=64); all other names have 32-bit times. */
#if __SIZEOF_POINTER__ == 4
#define WITH_TIME64

struct timespec64 {
    int64_t tv_sec;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    int32_t : 32;
    int32_t tv_nsec;
#else
    int32_t tv_nsec;
    int32_t : 32;
#endif
};

struct timeval64 {
    int64_t tv_sec, tv_usec;
};
#endif

#endif
