/* SPDX-License-Identifier: MIT
 *
 * A user's own preloaded library: says so when it is loaded.
 */
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
    static const char text[] = "own preload\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}
