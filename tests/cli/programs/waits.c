/* SPDX-License-Identifier: MIT
 *
 * Says that it is there and waits for the end of its input; needs no file but itself if static.  RING: it has
 * an io_uring, without liburing.
 */
#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    char byte;
#ifdef RING
    struct io_uring_params parameters = {.flags = 0};
    if (syscall(SYS_io_uring_setup, 1, &parameters) < 0)
        return 1;
#endif
    if (write(STDOUT_FILENO, "there\n", 6) != 6)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}
