/* SPDX-License-Identifier: MIT
 *
 * An exchange, and two pieces, on the inherited descriptor argv[1]; then the file argv[2] goes, which tells
 * its other owner to write.  Unseen waits, until standard input ends.
 */
#include "client.h"

int main(int argc, char **argv) {
    char byte;
    CHECK(argc == 3);
    int fd = atoi(argv[1]);
    CHECK(write(fd, "ask", 3) == 3 && read(fd, &byte, 1) == 1);
    CHECK(write(fd, "first", 5) == 5 && write(fd, "second", 6) == 6);
    CHECK(unlink(argv[2]) == 0);
    raw_call(SYS_read, STDIN_FILENO, (long)&byte, 1, 0, 0);
    return report();
}
