/* SPDX-License-Identifier: MIT
 *
 * A server that accepts by a system call that no library sees: classified at first sight.
 */
#define SERVE serve_one
#include "server.h"

static void serve_one(int listener)
{
    answer_all((int)raw_call(SYS_accept4, listener, 0, 0, 0, 0));
}
