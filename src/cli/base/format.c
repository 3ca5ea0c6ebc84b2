/* SPDX-License-Identifier: MIT */
#include "format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *safe_text(const char *any, char *text, size_t size) {
    size_t used = 0;
    for (const unsigned char *c = (const unsigned char *)any; *c && used + 1 < size; c++)
        text[used++] = (char)(*c < 0x20 || *c == 0x7f || *c >= 0x80 ? '?' : *c);
    text[used] = '\0';
    return text;
}

const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

const char *base_text(const char *path, char *text, size_t size) {
    return safe_text(base_of(path), text, size);
}

bool begins_with_any(const char *text, const char *const beginnings[], size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
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

const char *some_text(uint64_t n, const char *noun, char text[NAME_ROOM]) {
    char number[NAME_ROOM];
    int length = snprintf(text, NAME_ROOM, "%.30s %.20s", count_text(n, number), noun);
    if (n != 1)
        memcpy(text + length, "s", sizeof("s"));
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
