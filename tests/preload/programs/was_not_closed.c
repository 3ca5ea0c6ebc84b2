/* SPDX-License-Identifier: MIT
 *
 * Calls that would close the connection and fail: the options that it reads back after each, and whether it
 * goes on.
 */
#include <linux/close_range.h>
#include <sys/resource.h>

#include "client.h"

enum { FLAGS_NOT_KNOWN = 1 << 20 };

/* A number that may not be given any more. */
static int dup2_beyond_the_limit(int fd)
{
    struct rlimit before, now;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    now = before;
    now.rlim_cur = (rlim_t)fd;
    CHECK(setrlimit(RLIMIT_NOFILE, &now) == 0);
    int result = dup2(0, fd), error = errno;
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    errno = error;
    return result;
}

static int fail_by(int way, int fd)
{
    switch (way) {
    case 0: return dup2(-1, fd);
    case 1: return dup3(-1, fd, O_CLOEXEC);
    case 2: return dup3(0, fd, FLAGS_NOT_KNOWN);
    case 3: return dup3(0, fd, O_NONBLOCK);
    case 4: return dup2_beyond_the_limit(fd);
    case 5: return close_range((unsigned)fd, (unsigned)fd, FLAGS_NOT_KNOWN);
    case 6: return close_range(0, ~0U, CLOSE_RANGE_CLOEXEC | FLAGS_NOT_KNOWN);
    case 7: return close_range((unsigned)fd + 1, (unsigned)fd, 0);
    default: return (int)syscall(SYS_close_range, fd, fd, FLAGS_NOT_KNOWN);
    }
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    for (int way = 0; way < 9; way++) {
        CHECK(write(fd, message, HEADER) == HEADER);
        int result = fail_by(way, fd), error = errno;
        printf("way %d: %d %s, nodelay %d\n", way, result, strerrorname_np(error),
               option_of(fd, TCP_NODELAY));
        CHECK(write(fd, message + HEADER, BODY) == BODY);
        read_reply(fd);
    }
    return report();
}
