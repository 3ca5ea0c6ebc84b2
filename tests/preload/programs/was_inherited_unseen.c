/* SPDX-License-Identifier: MIT
 *
 * Header and body on a connection inherited as descriptor argv[1], and a wait that no library sees.
 */
#include "client.h"

int main(int argc, char **argv) {
    CHECK(argc == 2);
    int fd = atoi(argv[1]);
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    struct timespec most = {.tv_sec = 2};
    next_message(0);
    long begin = now_us();
    write_message(fd);
    raw_call(SYS_ppoll, (long)&answer, 1, (long)&most, 0, 0);
    ADD_FACT("\"last_us\": %ld", now_us() - begin);
    return report();
}
