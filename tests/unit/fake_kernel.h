/* SPDX-License-Identifier: MIT
 *
 * A kernel that only logs its calls, and answers as the test wishes.  The log is text: "nodelay(5,1)
 * send(5,abc) ..."
 */
#ifndef UNSTALL_FAKE_KERNEL_H
#define UNSTALL_FAKE_KERNEL_H

#include "conn.h"
#include "kernel.h"
#include "log.h"

enum { FAKE_SENDS = 64 };

struct fake_kernel {
    int linger; /* seconds of SO_LINGER plus one; 0: off */
    struct text log;
    struct text wire;  /* the bytes that left */
    int set_error;     /* the result of setsockopt: 0 or -errno */
    int nodelay, cork; /* the answer, once asked */
    char ulp[4];       /* of TCP_ULP */
    int mss;           /* of TCP_MAXSEG; 0: -EINVAL */
    uint64_t cookie;   /* 0: -ENOTSOCK */
    int protocol;      /* of SO_PROTOCOL; 0: -EINVAL; < 0: -errno */
    int room;          /* of SO_SNDBUF; 0: -EINVAL */
    bool full;         /* not writable */
    bool non_blocking; /* O_NONBLOCK */
    uint16_t peer_port, local_port; /* at 127.0.0.1; 0: -ENOTCONN */
    struct kernel_tcp_info tcp_info;
    int tcp_info_error;
    struct kernel_usage usage;
    int usage_error; /* 0 or -errno */
    ssize_t sends[FAKE_SENDS]; /* answers in turn; 0: everything; < 0: -errno */
    unsigned send_count;
    char log_buffer[8192], wire_buffer[65536];
};

extern struct fake_kernel fake;

/* Put it in the place of the real one, with nothing written down. */
void fake_kernel_install(void);
/* ... and load the configuration of an empty environment, and make connection 5: connected, in this mode, and
 * with untracked I/O, so that nothing is probed. */
struct conn *fake_kernel_connected(enum mode mode);

/* A line of its own in the log: "what(fd,with)". */
void fake_note(const char *what, int fd, const char *with, size_t n);

/* The calls since the last call of this function. */
const char *fake_log(void);

/* From now on the coarse clock stands at fake_clock.  The kernel's goes on by a tick, 4 ms, while a slow
 * machine is in a test. */
extern struct timespec fake_clock;
void fake_clock_stands(void);

#endif
