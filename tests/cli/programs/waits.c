/* SPDX-License-Identifier: MIT
 *
 * Says that it is there and waits for the end of its input; needs no file but itself if static.
 */
#include <unistd.h>

int main(void) {
    char byte;
    if (write(STDOUT_FILENO, "there\n", 6) != 6)
        return 1;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    return 0;
}
