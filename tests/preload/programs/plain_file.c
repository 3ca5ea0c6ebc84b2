/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: two writes and a read of a file, and of one written through stdio.
 */
#include "client.h"
#include <sys/mman.h>

int main(void)
{
    mark(BEGIN);
    int file = memfd_create("file", MFD_CLOEXEC);
    CHECK(file >= 0);
    for (int i = 0; i < 8; i++) {
        char data[HEADER + BODY];
        CHECK(write(file, message, HEADER) == HEADER);
        CHECK(write(file, message + HEADER, BODY) == BODY);
        CHECK(pread(file, data, sizeof data, i * (off_t)sizeof data) == (ssize_t)sizeof data);
    }
    int copy = dup(file);
    FILE *stream = fdopen(copy, "w");
    CHECK(stream && fprintf(stream, "text") == 4 && fclose(stream) == 0);
    close(file);
    mark(END);
    return 0;
}
