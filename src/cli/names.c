/* SPDX-License-Identifier: MIT */
#include "names.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

const char *safe_text(const char *any, char *text, size_t size) {
    size_t used = 0;
    for (const unsigned char *c = (const unsigned char *)any; *c && used + 1 < size; c++)
        text[used++] = (char)(*c < 0x20 || *c == 0x7f || *c >= 0x80 ? '?' : *c);
    text[used] = '\0';
    return text;
}

const char *base_text(const char *path, char *text, size_t size) {
    const char *slash = strrchr(path, '/');
    return safe_text(slash && slash[1] ? slash + 1 : path, text, size);
}

const char *time_text(uint64_t ns, bool ascii, char text[NAME_ROOM]) {
    static const struct {
        uint64_t least, unit;
        const char *name, *plain;
    } units[] = {
        {UINT64_C(3600000000000), UINT64_C(3600000000000), "h", "h"},
        {UINT64_C(180000000000), UINT64_C(60000000000), "min", "min"},
        {999500000, 1000000000, "s", "s"},
        {999500, 1000000, "ms", "ms"},
        {1000, 1000, "µs", "us"},
        {0, 1, "ns", "ns"},
    };
    size_t i = 0;
    while (ns < units[i].least)
        i++;
    double value = (double)ns / (double)units[i].unit;
    /* 99.95 would be written "100.0" */
    int digits = units[i].unit == 1 ? 0 : value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, NAME_ROOM, "%.*f %s", digits, value, ascii ? units[i].plain : units[i].name);
    return text;
}

const char *count_text(uint64_t n, char text[NAME_ROOM]) {
    char digits[NAME_ROOM];
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && length > 4)
            text[used++] = ' ';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

const char *short_count_text(uint64_t n, size_t columns, char text[NAME_ROOM]) {
    static const char letters[] = " kMGTPE";
    if (strlen(count_text(n, text)) < columns)
        return text;
    double value = (double)n;
    size_t i = 0;
    for (; value >= 999.5; i++)
        value /= 1000;
    snprintf(text, NAME_ROOM, "%.*f%c",
             value >= 99.95   ? 0
             : value >= 9.995 ? 1
                              : 2,
             value, letters[i]);
    return text;
}

const char *date_text(uint64_t realtime_ns, char text[NAME_ROOM]) {
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    struct tm t;
    char date[40] = "?";
    if (gmtime_r(&seconds, &t))
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(text, NAME_ROOM, "%s.%03uZ", date, (unsigned)(realtime_ns / 1000000 % 1000));
    return text;
}

bool speaks_utf8(void) {
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
