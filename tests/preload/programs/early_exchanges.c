/* SPDX-License-Identifier: MIT
 *
 * Exchanges made before any constructor ran (.preinit_array), and more from main on the same connection.
 */
#include "client.h"

static int connection = -1, count;

static void early(int argc, char **argv, char **environment)
{
    (void)environment;
    client_t client = client_arguments(argc, argv);
    count = client.count;
    connection = connect_to(client);
    for (int i = 0; i < 3; i++) {
        next_message(i);
        two_writes(connection);
    }
}

__attribute__((section(".preinit_array"), used))
static void (*const before_all)(int, char **, char **) = early;

int main(void)
{
    for (int i = 3; i < count; i++) {
        next_message(i);
        long begin = now_us();
        two_writes(connection);
        facts.us[facts.exchanges++] = now_us() - begin;
    }
    close(connection);
    return report();
}
