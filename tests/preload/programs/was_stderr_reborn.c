/* SPDX-License-Identifier: MIT
 *
 * The connection is descriptor 2: closed before by argv[5] (close, fclose), or never open (none).
 */
#include "client.h"

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    if (strcmp(argv[5], "close") == 0) CHECK(close(2) == 0);
    if (strcmp(argv[5], "fclose") == 0) CHECK(fclose(stderr) == 0);
    int fd = connect_to(client);
    if (fd != 2) return 3;
    run_exchanges(fd, client.count, two_writes);
    return report();
}
