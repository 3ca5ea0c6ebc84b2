/* SPDX-License-Identifier: MIT
 *
 * Exchanges of two small writes.  After each one clone3 by syscall(2) makes a child, which ends at once.  Its
 * arguments lie on the stack in one exchange, and in a mapping of their own in the next.
 */
#include <sys/mman.h>
#include "client.h"

static uint64_t *far;

static void exchange(int fd)
{
    static int number;
    uint64_t near[8] = {[4] = SIGCHLD};
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    memcpy(far, near, sizeof near);
    long child = syscall(SYS_clone3, number++ % 2 ? far : near, sizeof near);
    if (child == 0) raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    CHECK(child > 0);
    while (raw_call(SYS_wait4, child, 0, 0, 0, 0) != child) {}
}

int main(int argc, char **argv)
{
    far = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(far != MAP_FAILED);
    return client_main(argc, argv, exchange);
}
