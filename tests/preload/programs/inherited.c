/* SPDX-License-Identifier: MIT
 *
 * Exchanges on a connection inherited as descriptor number argv[1].
 */
#include "client.h"

static void exchange(int fd)
{
    CHECK(write(fd, message, HEADER) == HEADER);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    run_exchanges(atoi(argv[1]), atoi(argv[2]), exchange);
    return report();
}
