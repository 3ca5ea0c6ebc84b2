/* SPDX-License-Identifier: MIT
 *
 * Cases for the library of liar.c.
 */
#include "../same/same.h"

#include <sched.h>

CASE(a_call_that_fails) {
    SAY(usleep(1));
}

CASE(a_call_that_ends) {
    SAY(nice(0));
}

/* What these do is told by the end of main alone. */
CASE(a_call_that_sets_an_option) {
    getdtablesize();
}

CASE(a_call_that_drops_privileges) {
    rand();
}

CASE(a_call_that_starts_a_task) {
    sched_yield();
}

CASE(a_call_as_ever) {
    SAY(write(fd, "abc", 3));
}
