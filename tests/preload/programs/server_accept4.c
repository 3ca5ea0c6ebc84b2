/* SPDX-License-Identifier: MIT
 *
 * A server that accepts with accept4.
 */
#define SERVE serve_one
#include "server.h"

static void serve_one(int listener)
{
    answer_all(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
}
