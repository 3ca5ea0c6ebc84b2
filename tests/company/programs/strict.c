/* SPDX-License-Identifier: MIT
 *
 * Enters seccomp's strict mode between two exchanges: read, write and exit are all that is left.  exit, not
 * exit_group: a thread of anybody else's would keep the process alive for ever.
 */
#include "confined.h"
#include <linux/seccomp.h>

int main(int argc, char **argv) {
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    for (int i = 0; i < 6; i++) exchange_us(fd, i, NULL);
    CHECK(write(STDOUT_FILENO, library_is_loaded() ? "loaded\n" : "bare\n", 5) == 5);
    next_message(6);
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    raw_call(SYS_exit, 0, 0, 0, 0, 0);
    return 1;
}
