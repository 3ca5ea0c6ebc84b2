/* SPDX-License-Identifier: MIT */
#include "segment_names.h"

#include <arpa/inet.h>
#include <stdio.h>

const char *mode_name(unsigned mode) {
    static const char *const names[SEGMENT_MODES] = {
        [SEGMENT_MODE_OFF] = "off",           [SEGMENT_MODE_OBSERVE] = "observe",
        [SEGMENT_MODE_NODELAY] = "nodelay",   [SEGMENT_MODE_CORK] = "cork",
        [SEGMENT_MODE_COALESCE] = "coalesce", [SEGMENT_MODE_AUTO] = "auto",
    };
    return mode < SEGMENT_MODES ? names[mode] : "unknown";
}

const char *role_name(const struct segment_row *row) {
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

const char *address_text(const struct segment_address *a, char text[ENDPOINT_ROOM]) {
    char address[INET6_ADDRSTRLEN];
    if (!a->family || !inet_ntop(a->family, a->address, address, sizeof(address)))
        snprintf(text, ENDPOINT_ROOM, "?");
    else
        snprintf(text, ENDPOINT_ROOM, a->family == AF_INET6 ? "[%s]:%u" : "%s:%u", address,
                 a->port);
    return text;
}

const char *row_text(const struct segment_row *row, char text[ENDPOINT_ROOM]) {
    if (!row->endpoint.family)
        snprintf(text, ENDPOINT_ROOM, "other");
    else
        address_text(&row->endpoint, text);
    return text;
}
