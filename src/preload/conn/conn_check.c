/* SPDX-License-Identifier: MIT */
#include "conn_check.h"

#ifdef UNSTALL_CHECKS

#include "log.h"

void conn_check(const struct conn *c) {
    if (LIKELY(conn_is_legal(c)))
        return;
    log_line("illegal state of a connection (conn_check.h): facts %d, descriptors %d", (long)conn_facts(c),
             (long)c->refs);
    __builtin_trap();
}

#endif
