/* SPDX-License-Identifier: MIT */
#include "conn_check.h"

#ifdef UNSTALL_CHECKS

#include "log.h"
#include "text.h"

void conn_check(const struct conn *c) {
    if (LIKELY(conn_is_legal(c)))
        return;
    TEXT(line, 128);
    text_add(&line, "illegal state of a connection (conn_check.h): facts ");
    text_number(&line, conn_facts(c));
    text_add(&line, ", descriptors ");
    text_number(&line, c->refs);
    log_line(&line);
    __builtin_trap();
}

#endif
