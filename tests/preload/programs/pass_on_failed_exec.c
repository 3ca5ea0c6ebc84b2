/* SPDX-License-Identifier: MIT
 *
 * An exec that fails, and then further exchanges: still cured.
 */
#include "pass_on.h"

static void exchange_after_failed_exec(int fd)
{
    char *const none[] = {NULL};
    CHECK(execve("/does/not/exist", none, none) == -1 && errno == ENOENT);
    exchange(fd);
}

int main(int argc, char **argv)
{
    return client_main(argc, argv, exchange_after_failed_exec);
}
