/* SPDX-License-Identifier: MIT
 *
 * The header by write, the body by argv[5] (sendfile, splice) with a length far beyond the file's.
 */
#include "client.h"
#include <sys/mman.h>
#include <sys/sendfile.h>

static int file, ends[2];
static bool splices;

static void exchange(int fd)
{
    off_t begin = 0;
    CHECK(raw_call(SYS_pwrite64, file, (long)(message + HEADER), BODY, 0, 0) == BODY);
    if (splices) CHECK(raw_call(SYS_write, ends[1], (long)(message + HEADER), BODY, 0, 0) == BODY);
    CHECK(write(fd, message, HEADER) == HEADER);
    if (splices) CHECK(splice(ends[0], NULL, fd, NULL, 65536, 0) == BODY);
    else CHECK(sendfile(fd, file, &begin, 0x7ffff000) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    splices = strcmp(argv[5], "splice") == 0;
    file = memfd_create("body", MFD_CLOEXEC);
    CHECK(file >= 0 && pipe(ends) == 0);
    return client_main(argc, argv, exchange);
}
