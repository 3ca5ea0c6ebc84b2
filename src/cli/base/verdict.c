/* SPDX-License-Identifier: MIT */
#include "verdict.h"

#include <stdarg.h>

#include "format.h"

uint64_t verdict_exchanges(const struct verdict *v) {
    return v->exchanges > v->firsts ? v->exchanges - v->firsts : 0;
}

enum verdict_kind verdict_of(const struct verdict *v) {
    if (v->stalls)
        return VERDICT_STALLS;
    if (v->because[0])
        return VERDICT_CANNOT_TELL;
    return verdict_exchanges(v) < (v->least ? v->least : VERDICT_LEAST) ? VERDICT_TOO_FEW : VERDICT_NONE;
}

const char *verdict_name(enum verdict_kind kind) {
    static const char *const names[] = {[VERDICT_STALLS] = "stalls",
                                        [VERDICT_NONE] = "none",
                                        [VERDICT_TOO_FEW] = "too-few",
                                        [VERDICT_CANNOT_TELL] = "cannot-tell"};
    return names[kind];
}

int verdict_code(enum verdict_kind kind) {
    return kind == VERDICT_STALLS ? 1 : kind == VERDICT_NONE ? 0 : 2;
}

int verdict_worst(int one, int other) {
    int most = one > other ? one : other;
    return most <= 2 && (one == 1 || other == 1) ? 1 : most;
}

void verdict_because(struct verdict *v, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->because, sizeof(v->because), format, arguments);
    va_end(arguments);
}

static void too_few(struct prose *p, const struct verdict *v, const char *where) {
    char number[NAME_ROOM], firsts[NAME_ROOM];
    if (v->exchanges == 0) {
        prose_add(p, "Too few exchanges to tell: none was seen%s", where);
        return;
    }
    prose_add(p, "Too few exchanges to tell: %s%s", v->estimated ? "about " : "",
              count_text(v->exchanges, number));
    if (v->least > VERDICT_LEAST)
        prose_add(p, " (%s%s are enough)", count_text(v->least, number),
                  v->firsts ? " beyond the first of each connection" : "");
    prose_add(p, "%s", where);
    if (v->firsts)
        prose_add(p, " on %s connection%s, and the first of a connection never stalls",
                  count_text(v->firsts, firsts), v->firsts == 1 ? "" : "s");
}

void verdict_words(struct prose *p, const struct verdict *v, const char *where) {
    char number[NAME_ROOM];
    uint64_t n = verdict_exchanges(v);
    switch (verdict_of(v)) {
    case VERDICT_STALLS: break;
    case VERDICT_CANNOT_TELL: prose_add(p, "Cannot tell: %s", v->because); break;
    case VERDICT_TOO_FEW: too_few(p, v, where); break;
    case VERDICT_NONE:
        prose_add(p, "No stall in %s%s exchange%s%s", v->estimated ? "about " : "", count_text(n, number),
                  n == 1 ? "" : "s", where);
        if (v->firsts)
            prose_add(p, ", the first of each connection not counted");
    }
}

void verdict_json(struct json *j, const struct verdict *v, const char *sentence) {
    json_string(j, "kind", verdict_name(verdict_of(v)));
    json_string(j, "sentence", sentence);
    json_unsigned(j, "exchanges", verdict_exchanges(v));
    json_string(j, "because", verdict_of(v) == VERDICT_CANNOT_TELL ? v->because : NULL);
}
