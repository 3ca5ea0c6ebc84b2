/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "array.h"
#include "closing.h"

/* The length of the UTF-8 character at s (RFC 3629); 0 if it is invalid. */
static size_t character(const unsigned char *s) {
    static const struct {
        unsigned char first, last; /* of the leading byte */
        unsigned char low, high;   /* of the second byte */
        size_t length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        if (forms[i].length > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

static void quoted(FILE *out, const char *text) {
    const unsigned char *s = (const unsigned char *)text;
    fputc('"', out);
    while (*s) {
        size_t n = character(s);
        if (n == 0) {
            fputs("\\ufffd", out); /* U+FFFD stands for each invalid byte */
            n = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(out, "\\u%04x", *s);
        } else {
            fwrite(s, 1, n, out);
        }
        s += n;
    }
    fputc('"', out);
}

static void line(struct json *j) {
    if (j->compact)
        return;
    fputc('\n', j->out);
    for (int i = 0; i < j->depth; i++)
        fputs("  ", j->out);
}

static void member(struct json *j, const char *key) {
    if (j->filled)
        fputs(j->compact ? ", " : ",", j->out);
    if (j->depth > 0)
        line(j);
    j->filled = true;
    if (key) {
        quoted(j->out, key);
        fputs(": ", j->out);
    }
}

static void opened(struct json *j, const char *key, char bracket) {
    member(j, key);
    fputc(bracket, j->out);
    j->depth++;
    j->filled = false;
}

static void closed(struct json *j, char bracket) {
    j->depth--;
    if (j->filled)
        line(j);
    fputc(bracket, j->out);
    j->filled = true;
}

struct json json_begin(FILE *out) {
    return (struct json){.out = out};
}

void json_end(struct json *j) {
    fputc('\n', j->out);
    j->filled = false;
}

/* When, where and by which command: a page or a file in a ticket must say so itself. */
static void json_made(struct json *j) {
    char when[64] = "", command[2048] = "unstall", kernel[sizeof(struct utsname)];
    struct utsname host = {.nodename = "?"};
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%FT%T%z", &local);
    uname(&host);
    snprintf(kernel, sizeof(kernel), "%s %s", host.sysname, host.release);
    CLOSED_FILE *in = fopen("/proc/self/cmdline", "re");
    size_t length = in ? fread(command, 1, sizeof(command) - 1, in) : 0;
    for (size_t i = 0; i + 1 < length; i++)
        if (!command[i])
            command[i] = ' ';
    json_object(j, "made");
    json_string(j, "at", when);
    json_string(j, "host", host.nodename);
    json_string(j, "kernel", kernel);
    json_string(j, "command", command);
    json_object_end(j);
}

void json_document(struct json *j, const char *form) {
    char format[32];
    snprintf(format, sizeof(format), "unstall-%s", form);
    json_object(j, NULL);
    json_string(j, "unstall", UNSTALL_VERSION);
    json_string(j, "format", format);
    json_unsigned(j, "version", 1);
    json_made(j);
}

void json_object(struct json *j, const char *key) {
    opened(j, key, '{');
}

void json_object_end(struct json *j) {
    closed(j, '}');
}

void json_array(struct json *j, const char *key) {
    opened(j, key, '[');
}

void json_array_end(struct json *j) {
    closed(j, ']');
}

void json_string(struct json *j, const char *key, const char *value) {
    member(j, key);
    if (value)
        quoted(j->out, value);
    else
        fputs("null", j->out);
}

void json_bool(struct json *j, const char *key, bool value) {
    member(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_null(struct json *j, const char *key) {
    json_string(j, key, NULL);
}

void json_signed(struct json *j, const char *key, int64_t value) {
    member(j, key);
    fprintf(j->out, "%" PRId64, value);
}

void json_unsigned(struct json *j, const char *key, uint64_t value) {
    member(j, key);
    fprintf(j->out, "%" PRIu64, value);
}

void json_unsigned_if(struct json *j, const char *key, uint64_t value, bool known) {
    if (known)
        json_unsigned(j, key, value);
    else
        json_null(j, key);
}

void json_real(struct json *j, const char *key, double value) {
    if (!isfinite(value)) {
        json_null(j, key);
        return;
    }
    member(j, key);
    fprintf(j->out, "%.10g", value);
}

void json_bin(struct json *j, double from_ns, double to_ns, uint64_t count) {
    if (!count)
        return;
    json_array(j, NULL);
    j->compact++;
    json_real(j, NULL, from_ns);
    json_real(j, NULL, to_ns);
    json_unsigned(j, NULL, count);
    json_array_end(j);
    j->compact--;
}

void json_counts(struct json *j, const char *key, unsigned steps, const void *counts, size_t n, size_t size) {
    json_object(j, key);
    json_unsigned(j, "steps", steps);
    json_array(j, "buckets");
    j->compact++;
    for (size_t i = 0; i < n; i++) {
        uint64_t count = size == sizeof(uint16_t)   ? ((const uint16_t *)counts)[i]
                         : size == sizeof(uint32_t) ? ((const uint32_t *)counts)[i]
                                                    : ((const uint64_t *)counts)[i];
        if (!count)
            continue;
        json_array(j, NULL);
        json_unsigned(j, NULL, i);
        json_unsigned(j, NULL, count);
        json_array_end(j);
    }
    json_array_end(j);
    j->compact--;
    json_object_end(j);
}
