/* SPDX-License-Identifier: MIT */
#include "stats_names.h"

#include <arpa/inet.h>
#include <stdio.h>

const char *mode_name(unsigned mode) {
    static const char *const names[STATS_MODES] = {
        [STATS_MODE_OFF] = "off",           [STATS_MODE_OBSERVE] = "observe",
        [STATS_MODE_NODELAY] = "nodelay",   [STATS_MODE_CORK] = "cork",
        [STATS_MODE_COALESCE] = "coalesce", [STATS_MODE_AUTO] = "auto",
    };
    return mode < STATS_MODES ? names[mode] : "unknown";
}

const char *role_name(const struct stats_row *row) {
    switch (row->role) {
    case ROLE_LISTENER: return "listener";
    case ROLE_DESTINATION: return "destination";
    default: return row->endpoint.family ? "unknown" : "other";
    }
}

const char *life_name(enum reader_life life) {
    static const char *const names[] = {
        [LIFE_RUNS] = "runs",
        [LIFE_ENDED] = "ended",
        [LIFE_KILLED] = "killed",
        [LIFE_UNKNOWN] = "unknown",
    };
    return names[life];
}

const char *address_text(const struct stats_address *a, char text[ENDPOINT_ROOM]) {
    char address[INET6_ADDRSTRLEN];
    if (!a->family || !inet_ntop(a->family, a->address, address, sizeof(address)))
        snprintf(text, ENDPOINT_ROOM, "?");
    else
        snprintf(text, ENDPOINT_ROOM, a->family == AF_INET6 ? "[%s]:%u" : "%s:%u", address,
                 a->port);
    return text;
}

const char *row_text(const struct stats_row *row, char text[ENDPOINT_ROOM]) {
    if (!row->endpoint.family)
        snprintf(text, ENDPOINT_ROOM, "other");
    else
        address_text(&row->endpoint, text);
    return text;
}

const char *row_words(const struct stats_row *row, char text[ENDPOINT_ROOM]) {
    if (row->endpoint.family)
        return address_text(&row->endpoint, text);
    snprintf(text, ENDPOINT_ROOM, "other endpoints");
    return text;
}

/* ---- counters -------------------------------------------------------- */

#define COUNTER_NAME(constant, name, what) [COUNT_##constant] = #name,
const char *const counter_names[STATS_COUNTERS] = {STATS_COUNTERS_OF(COUNTER_NAME)};
#undef COUNTER_NAME

bool is_used(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    return c[COUNT_CONNECTIONS] || c[COUNT_WRITES] || c[COUNT_READS] || c[COUNT_EXCHANGES];
}

bool is_looked_at(const struct reader_row *row) {
    return row->id.mode != STATS_MODE_OFF || row->tally.counter[COUNT_SUSPECTS] || proved_stalls(&row->tally);
}

uint64_t lost_ns(const struct reader_tally *t) {
    return t->counter[COUNT_STALL_NS] + t->counter[COUNT_STALL_BOUND_NS];
}

uint64_t proved_stalls(const struct reader_tally *t) {
    return t->counter[COUNT_STALLS_PROVED] + t->counter[COUNT_STALLS_BOUND];
}
