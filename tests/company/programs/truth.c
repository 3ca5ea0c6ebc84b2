/* SPDX-License-Identifier: MIT
 *
 * Cases for the library of liar.c.
 */
#include "../same/same.h"

CASE(a_call_that_fails) {
    SAY(usleep(1));
}

CASE(a_call_that_ends) {
    SAY(nice(0));
}

CASE(a_call_as_ever) {
    SAY(write(fd, "abc", 3));
}
