/* SPDX-License-Identifier: MIT
 *
 * A library with calls that differ from libc's (test_same.py must find it).
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

int usleep(useconds_t microseconds)
{
    (void)microseconds;
    errno = EIO;
    return -1;
}

int nice(int increment)
{
    (void)increment;
    kill(getpid(), SIGKILL);
    return 0;
}
