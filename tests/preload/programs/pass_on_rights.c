/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then the connection is sent over the Unix socket that is descriptor 0
 * (argv[6]: by sendmsg or sendmmsg), then, after a byte came back, further exchanges.
 */
#include "pass_on.h"

int main(int argc, char **argv) {
    char byte;
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    set_own_value(argc, argv, fd);
    exchange_all(fd, 0, 5);
    send_descriptor(0, fd, argc > 6 && strcmp(argv[6], "sendmmsg") == 0);
    CHECK(read(0, &byte, 1) == 1);
    run_exchanges_from(5, fd, client.count, two_writes);
    close(fd);
    return report();
}
