/* SPDX-License-Identifier: MIT
 *
 * What process.c and nested.c provide in the library: here the gate is always
 * open, and no signal handler has left writes behind.
 */
#include "conn.h"

static const volatile uint8_t open_gate = GATE_OPEN;
const volatile uint8_t *gate = &open_gate;

bool gate_slow(void) {
    return true;
}

void nested_catch_up(void) {}

void nested_stop_draining(void) {
}
