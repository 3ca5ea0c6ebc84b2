/* SPDX-License-Identifier: MIT
 *
 * What nested.c provides in the library: here no signal handler has left writes behind.
 */
#include "nested.h"

void nested_take_in(struct conn *c) {
    (void)c;
}

void nested_catch_up(struct conn *c) {
    (void)c;
}

void nested_forget(struct conn *c) {
    (void)c;
}

void nested_abandon(void) {}
