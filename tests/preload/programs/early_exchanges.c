/* SPDX-License-Identifier: MIT
 *
 * Exchanges made before any constructor ran (.preinit_array), and more from main on the same connection.
 */
#include "client.h"

static int connection = -1, count;

static void early(int argc, char **argv, char **environment) {
    (void)environment;
    client_t client = client_arguments(argc, argv);
    count = client.count;
    connection = connect_to(client);
    exchange_all(connection, 0, 3);
}

__attribute__((section(".preinit_array"), used))
static void (*const before_all)(int, char **, char **) = early;

int main(void) {
    run_exchanges_from(3, connection, count - 3, two_writes);
    close(connection);
    return report();
}
