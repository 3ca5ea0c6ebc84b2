/* SPDX-License-Identifier: MIT
 *
 * A program to be built in every way that a preload cannot reach.
 */
#include <stdio.h>

#ifdef AS_GO
/* The note in which Go's linker leaves its build id. */
__attribute__((used, aligned(4), section(".note.go.buildid"))) static const struct {
    unsigned name, text, type;
    char words[8];
} note = {4, 4, 4, {'G', 'o', 0, 0, 'i', 'd', 0, 0}};
#endif

int main(void) {
    puts("hello");
    return 0;
}
