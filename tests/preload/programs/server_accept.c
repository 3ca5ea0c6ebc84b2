/* SPDX-License-Identifier: MIT
 *
 * A server that answers in two writes on an accepted connection.
 */
#define SERVE serve_one
#include "server.h"

static void serve_one(int listener)
{
    answer_all(accept(listener, NULL, NULL));
}
