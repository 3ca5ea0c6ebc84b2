/* SPDX-License-Identifier: MIT */
#include "strace_line.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

static const char *blanks(const char *p) {
    return p + strspn(p, " ");
}

/* Reads decimal digits; a number that does not fit loses digits. */
static const char *number(const char *p, int64_t *out) {
    int64_t n = 0;
    while (digit(*p)) {
        if (n < INT64_MAX / 100)
            n = n * 10 + (*p - '0');
        p++;
    }
    *out = n;
    return p;
}

/* ".123456" as nanoseconds. */
static const char *fraction(const char *p, int64_t *ns) {
    *ns = 0;
    int64_t unit = 100000000;
    for (p++; digit(*p); p++, unit /= 10)
        *ns += unit * (*p - '0');
    return p;
}

static int64_t seconds_ns(int64_t seconds) {
    return seconds > INT64_MAX / 2000000000 ? 0 : seconds * 1000000000;
}

/* ---- the front ------------------------------------------------------- */

/* HH:MM:SS, with or without a fraction. */
static const char *clock_time(const char *p, struct line *out) {
    int64_t h, m, s, ns = 0;
    p = number(p, &h);
    p = number(p + 1, &m);
    if (*p != ':')
        return NULL;
    p = number(p + 1, &s);
    out->time = *p == '.' ? TIME_OF_DAY : TIME_COARSE;
    if (*p == '.')
        p = fraction(p, &ns);
    if (h > 24 || m > 60 || s > 61)
        return NULL;
    out->at_ns = seconds_ns(h * 3600 + m * 60 + s) + ns;
    return p;
}

/* Seconds since 1970, or since the previous line (padded with blanks). */
static const char *plain_time(const char *p, struct line *out) {
    int64_t s, ns;
    p = number(p, &s);
    p = fraction(p, &ns);
    out->time = s > 100000000 ? TIME_EPOCH : TIME_RELATIVE;
    out->at_ns = seconds_ns(s) + ns;
    return p;
}

static const char *front_time(const char *p, struct line *out) {
    if (*p == '+')
        p = blanks(p + 1);
    const char *after = p;
    while (digit(*after))
        after++;
    if (after == p)
        return p;
    const char *end = *after == ':' ? clock_time(p, out) : *after == '.' ? plain_time(p, out) : p;
    if (!end || (end != p && *end != ' ')) {
        out->time = TIME_NONE;
        return p;
    }
    p = blanks(end);
    if (strncmp(p, "(+", 2) == 0) { /* -r together with -tt */
        const char *close = strchr(p, ')');
        p = close ? blanks(close + 1) : p;
    }
    return p;
}

/* "[pid 12]", "12", "12<name>" (-Y) or nothing. */
static const char *front_pid(const char *p, struct line *out) {
    int64_t pid;
    const char *start = p;
    bool bracket = strncmp(p, "[pid ", 5) == 0;
    if (bracket)
        p = blanks(p + 5);
    if (!digit(*p))
        return start;
    const char *end = number(p, &pid);
    if (*end == '<') {
        const char *close = strpbrk(end, "> ");
        end = close && *close == '>' ? close + 1 : end;
    }
    if (bracket && *end == ']')
        end++;
    if ((!bracket && *end != ' ') || pid > INT_MAX)
        return start; /* it is a time */
    out->pid = (int)pid;
    return blanks(end);
}

/* "[   42]" of -n, "[00007f…]" of -i. */
static const char *front_brackets(const char *p) {
    while (*p == '[') {
        const char *close = strchr(p, ']');
        if (!close || close - p > 24)
            break;
        p = blanks(close + 1);
    }
    return p;
}

/* ---- the call -------------------------------------------------------- */

static const char *call_name(const char *p, struct line *out) {
    size_t n = 0;
    while (isalnum((unsigned char)*p) || *p == '_') {
        if (n < CALL_NAME - 1)
            out->name[n++] = *p;
        p++;
    }
    out->name[n] = '\0';
    return p;
}

/* The last " = ": data may have others before it. */
static const char *result_of(const char *args) {
    const char *found = NULL;
    for (const char *p = args; (p = strstr(p, " = ")) != NULL; p += 3)
        found = p;
    return found;
}

static void read_took(const char *result, struct line *out) {
    const char *angle = strrchr(result, '<');
    if (!angle || !digit(angle[1]))
        return;
    int64_t s, ns;
    const char *p = number(angle + 1, &s);
    if (*p != '.')
        return;
    p = fraction(p, &ns);
    if (p[0] == '>' && p[1] == '\0' && s < 1000000)
        out->took_ns = seconds_ns(s) + ns;
}

static void read_result(struct line *out) {
    const char *equals = result_of(out->args);
    out->args_end = equals ? equals : out->args + strlen(out->args);
    if (!equals)
        return;
    out->result = blanks(equals + 3);
    char *end;
    out->value = strtol(out->result, &end, 10);
    if (end == out->result || *out->result == '?')
        out->value = 0;
    out->failed = out->value < 0 || *out->result == '?';
    read_took(out->result, out);
}

static bool ends_unfinished(const char *p) {
    static const char *const words[] = {"<unfinished ...>", "<unfinished ...>)", "<detached ...>"};
    size_t length = strlen(p);
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if (length >= n && strcmp(p + length - n, words[i]) == 0)
            return true;
    }
    return false;
}

static void read_call(const char *p, struct line *out) {
    bool resumed = strncmp(p, "<... ", 5) == 0;
    p = call_name(resumed ? p + 5 : p, out);
    if (out->name[0] == '\0')
        return;
    if (resumed) {
        p = strstr(p, "resumed>");
        if (!p)
            return;
        p += 8;
    } else if (*p++ != '(') {
        return;
    }
    out->args = p;
    if (ends_unfinished(p)) {
        out->kind = LINE_UNFINISHED;
        out->args_end = p + strlen(p) - strlen("<unfinished ...>");
        if (out->args_end < p)
            out->args_end = p;
        return;
    }
    read_result(out);
    if (out->result || resumed)
        out->kind = resumed ? LINE_RESUMED : LINE_CALL;
}

void line_read(const char *text, struct line *out) {
    *out = (struct line){.kind = LINE_OTHER, .took_ns = -1};
    const char *p = front_pid(blanks(text), out);
    p = front_brackets(front_time(p, out));
    if (strncmp(p, "+++ exited", 10) == 0 || strncmp(p, "+++ killed", 10) == 0)
        out->kind = LINE_EXITED;
    else
        read_call(p, out);
}

int line_descriptor(const char *p, const char **decoration, const char **decoration_end) {
    int64_t n;
    *decoration = *decoration_end = NULL;
    if (!digit(*p))
        return -1;
    p = number(p, &n);
    if (n > INT_MAX)
        return -1;
    if (*p != '<')
        return (int)n;
    /* "TCP:[a:1->b:2]" has a '>' of its own. */
    const char *end = p + 1;
    while (*end && !(*end == '>' && end[-1] != '-'))
        end++;
    if (*end == '>') {
        *decoration = p + 1;
        *decoration_end = end;
    }
    return (int)n;
}
