/* SPDX-License-Identifier: MIT
 *
 * Prints its LD_PRELOAD.
 */
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const char *preload = getenv("LD_PRELOAD");
    puts(preload ? preload : "");
}
