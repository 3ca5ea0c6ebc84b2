/* SPDX-License-Identifier: MIT */
#include "thread.h"

_Thread_local struct thread self;
_Static_assert(offsetof(struct thread, turn) == 0, "jump.S reads it");

static const volatile uint8_t shut = GATE_SHUT;
const volatile uint8_t *gate = &shut;

uint32_t thread_tag_new(void) {
    static uint32_t last;
    do
        self.tag = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED) & 0xffff;
    while (self.tag == 0);
    return self.tag;
}
