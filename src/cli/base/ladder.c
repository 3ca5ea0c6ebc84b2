/* SPDX-License-Identifier: MIT */
#include "ladder.h"

#include <string.h>

#include "prose.h"

void ladder_add(struct ladder *l, enum ladder_kind kind, int64_t at_ns, uint64_t bytes) {
    if (l->count < LADDER_STEPS)
        l->step[l->count++] = (struct ladder_step){kind, at_ns, bytes};
}

unsigned ladder_hold_ends(const struct ladder *l, unsigned held) {
    for (unsigned i = held + 1; i < l->count; i++)
        if (l->step[i].kind != LADDER_HELD && l->step[i].kind != LADDER_ACK)
            return i;
    return l->count - 1;
}

int64_t ladder_held_ns(const struct ladder *l) {
    for (unsigned i = 0; i < l->count; i++)
        if (l->step[i].kind == LADDER_HELD)
            return l->step[ladder_hold_ends(l, i)].at_ns - l->step[i].at_ns;
    return 0;
}

const char *ladder_label(const struct ladder_step *s, char text[64]) {
    static const char *const names[] = {
        [LADDER_DATA] = "data",
        [LADDER_HELD] = "bytes held by Nagle's algorithm",
        [LADDER_ACK] = "acknowledgement, delayed",
        [LADDER_ANSWER] = "answer",
        [LADDER_NEXT] = "next request",
    };
    unsigned long n = (unsigned long)s->bytes;
    if (!n)
        snprintf(text, 64, "%s", names[s->kind]);
    else if (s->kind == LADDER_HELD)
        snprintf(text, 64, "%lu byte%s held by Nagle's algorithm", n, n == 1 ? "" : "s");
    else
        snprintf(text, 64, "%lu byte%s", n, n == 1 ? "" : "s");
    return text;
}

void ladder_json(struct json *j, const struct ladder *l, const char *caption) {
    static const char *const kinds[] = {
        [LADDER_DATA] = "data",     [LADDER_HELD] = "held", [LADDER_ACK] = "ack",
        [LADDER_ANSWER] = "answer", [LADDER_NEXT] = "next",
    };
    char label[64];
    json_object(j, NULL);
    json_string(j, "caption", caption);
    json_string(j, "writer", l->writer);
    json_string(j, "peer", l->peer);
    json_bool(j, "predicted", l->predicted);
    json_array(j, "steps");
    for (unsigned i = 0; i < l->count; i++) {
        const struct ladder_step *s = &l->step[i];
        json_object(j, NULL);
        json_string(j, "kind", kinds[s->kind]);
        json_real(j, "at_ms", (double)s->at_ns / 1e6);
        if (s->kind == LADDER_HELD)
            json_real(j, "held_ms", (double)ladder_held_ns(l) / 1e6);
        json_unsigned(j, "bytes", s->bytes);
        json_string(j, "label", ladder_label(s, label));
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

/* ---- as text --------------------------------------------------------- */

enum { TIME_COLUMNS = 12, SPAN = 46 };

/* An arrow over SPAN columns with its label in the middle. */
static void text_arrow(FILE *out, const struct ladder_step *s, bool ascii) {
    char label[64];
    bool right = s->kind == LADDER_DATA;
    const char *dash = ascii ? "-" : "─";
    size_t used = strlen(ladder_label(s, label)) + 4, left = (SPAN - used) / 2;
    fputs(right ? dash : ascii ? "<" : "◀", out);
    for (size_t i = 0; i < left; i++)
        fputs(dash, out);
    fprintf(out, " %s ", label);
    for (size_t i = left + used; i < SPAN; i++)
        fputs(dash, out);
    fputs(right ? ascii ? ">" : "▶" : dash, out);
}

static void text_gap(FILE *out, const struct ladder *l, unsigned held, bool ascii) {
    const char *line = ascii ? "|" : "│", *wait = ascii ? "#" : "█";
    char label[64], note[96];
    ladder_label(&l->step[held], label);
    snprintf(note, sizeof(note), "%.1f ms", (double)ladder_held_ns(l) / 1e6);
    const char *const rows[] = {label, note, ""};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fprintf(out, "%*s ", TIME_COLUMNS, "");
        fputs(wait, out);
        fputs("  ", out);
        print_left(out, rows[i], SPAN - 2);
        fprintf(out, "%s\n", line);
    }
}

void ladder_text(FILE *out, const struct ladder *l, bool ascii) {
    const char *line = ascii ? "|" : "│";
    fprintf(out, "%*s ", TIME_COLUMNS, l->predicted ? "predicted" : "ms");
    print_left(out, l->writer, SPAN + 1 - columns_of(l->peer) / 2);
    fprintf(out, "%s\n", l->peer);
    for (unsigned i = 0; i < l->count; i++) {
        const struct ladder_step *s = &l->step[i];
        if (s->kind == LADDER_HELD) {
            text_gap(out, l, i, ascii);
            continue;
        }
        fprintf(out, "%*.3f %s", TIME_COLUMNS, (double)s->at_ns / 1e6, line);
        text_arrow(out, s, ascii);
        fprintf(out, "%s\n", line);
    }
}
