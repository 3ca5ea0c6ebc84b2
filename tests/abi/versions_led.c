/* SPDX-License-Identifier: MIT
 *
 * Says which file each of some names led to (N(), which the test generates).  Weak, because musl from 1.2.4
 * on has the names with 64 for the loader of older programs only, not for the link editor.
 */
#include <dlfcn.h>
#include <stdio.h>

#define N(name) extern int led_##name(void) __asm__(#name) __attribute__((weak));
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
