/* SPDX-License-Identifier: MIT
 *
 * A server.  Its listener gets TCP_NODELAY (or TCP_CORK: argument "cork") when the connection is already
 * waiting to be accepted: the connection has it not.
 */
#define SERVE serve_late
#include "server.h"

static void serve_late(int listener)
{
    static const int one = 1;
    int name = strcmp(how, "cork") == 0 ? TCP_CORK : TCP_NODELAY;
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    CHECK(poll(&waiting, 1, 10000) == 1);
    CHECK(setsockopt(listener, IPPROTO_TCP, name, &one, sizeof one) == 0);
    answer_all(accept(listener, NULL, NULL));
}
