/* SPDX-License-Identifier: MIT
 *
 * write, then a FILE on the same descriptor; its fclose flushes and closes it; then the number is
 * reused as a file.
 */
#include "client.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
    mark(BEGIN);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    exchange_all(fd, 0, 3);
    next_message(3);
    CHECK(write(fd, message, 50) == 50);
    CHECK(write(fd, message + 50, HEADER - 50) == HEADER - 50);
    FILE *out = fdopen(fd, "w");
    CHECK(out && fwrite(message + HEADER, 1, BODY, out) == BODY);
    CHECK(fclose(out) == 0);
    mark(0);
    CHECK(memfd_create("file", 0) == fd);
    write_message(fd);
    char data[2 * sizeof message];
    CHECK(pread(fd, data, sizeof data, 0) == HEADER + BODY);
    CHECK(memcmp(data, message, sizeof message) == 0);
    mark(END);
    return report();
}
