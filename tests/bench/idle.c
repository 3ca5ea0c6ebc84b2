/* SPDX-License-Identifier: MIT
 *
 * A process that does nothing until its standard input ends.  It shows the memory that a library alone costs.
 */
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char byte;
    puts("ready");
    fflush(stdout);
    return read(0, &byte, 1) < 0;
}
