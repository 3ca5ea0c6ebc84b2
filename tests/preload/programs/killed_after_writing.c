/* SPDX-License-Identifier: MIT
 *
 * Three exchanges, then two writes that succeed, then SIGKILL: the bytes of a successful write
 * are in the kernel.
 */
#include "client.h"

int main(int argc, char **argv)
{
    int fd = connect_to(client_arguments(argc, argv));
    for (int i = 0; i < 4; i++) {
        next_message(i);
        write_message(fd);
        if (i < 3) read_reply(fd);
    }
    raw_call(SYS_kill, getpid(), SIGKILL, 0, 0, 0);
    return 1;
}
