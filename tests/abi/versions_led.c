/* SPDX-License-Identifier: MIT
 *
 * Says which file each of some names led to (N(), which the test generates).
 */
#include <dlfcn.h>
#include <stdio.h>

#define N(name) extern int led_##name(void) __asm__(#name);
NAMES
#undef N

int main(void) {
#define N(name)                                        \
    do {                                               \
        Dl_info led = {0};                             \
        if (dladdr((void *)led_##name, &led))          \
            printf("%s %s\n", #name, led.dli_fname);   \
    } while (0);
    NAMES
    return 0;
}
