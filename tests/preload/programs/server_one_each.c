/* SPDX-License-Identifier: MIT
 *
 * A server that answers in two writes, on ten connections one after the other.
 */
#define SERVE serve_ten
#include "server.h"

enum { CONNECTIONS = 10 };

static void serve_ten(int listener)
{
    for (int i = 0; i < CONNECTIONS; i++) answer_all(accept(listener, NULL, NULL));
}
