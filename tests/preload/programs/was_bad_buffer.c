/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then a small write, one of much that is not there, and another small one.
 */
#include "client.h"

enum { SMALL = 5, MUCH = 100000 };

int main(int argc, char **argv)
{
    static void *volatile nowhere = (void *)8;
    char data[2 * SMALL];
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    fill(data, sizeof data, (size_t)client.count * sizeof message);
    CHECK(write(fd, data, SMALL) == SMALL);
    void *bad = nowhere;
    CHECK(write(fd, bad, MUCH) == -1 && errno == EFAULT);
    CHECK(write(fd, data + SMALL, SMALL) == SMALL);
    close(fd);
    return report();
}
