/* SPDX-License-Identifier: MIT
 *
 * For programs that pass a connection on: the options that the kernel has, as
 * the next owner of the socket finds them, asked by raw system calls.
 *
 * argv[5] is the value that the application itself gives TCP_NODELAY (absent: none).
 */
#include "client.h"

static UNUSED void set_own_value(int argc, char **argv, int fd) {
    if (argc > 5) set_option(fd, TCP_NODELAY, atoi(argv[5]));
}

/* The second image of the program: prints the kernel's options of descriptor 3. */
static UNUSED void tell_if_second(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[1], "tell") != 0) return;
    printf("second: nodelay %d cork %d\n", raw_option(3, IPPROTO_TCP, TCP_NODELAY),
           raw_option(3, IPPROTO_TCP, TCP_CORK));
    exit(0);
}
