/* SPDX-License-Identifier: MIT
 *
 * Changes what one name gives, for the test that a difference is found.
 */
#include <errno.h>
#include <sys/file.h>

int flock(int fd, int operation) {
    (void)fd, (void)operation;
    errno = ENOTTY;
    return -1;
}
