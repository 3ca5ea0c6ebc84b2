/* SPDX-License-Identifier: MIT
 *
 * Connects, switches to the mode argv[5] before anything was written, then exchanges.
 */
#include "client.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    int (*set_mode)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "unstall_hook_set_mode");
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK(set_mode && set_mode(argv[5]) == 0);
    run_exchanges(fd, client.count, two_writes);
    close(fd);
    return report();
}
