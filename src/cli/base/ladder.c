/* SPDX-License-Identifier: MIT */
#include "ladder.h"

#include <string.h>

#include "prose.h"

void ladder_add(struct ladder *l, enum ladder_kind kind, int64_t at_ns, uint64_t bytes) {
    if (l->count < LADDER_STEPS)
        l->step[l->count++] = (struct ladder_step){kind, at_ns, bytes};
}

/* The step that ends the hold of step `held`; the last step if none does. */
static unsigned hold_ends(const struct ladder *l, unsigned held) {
    for (unsigned i = held + 1; i < l->count; i++)
        if (l->step[i].kind != LADDER_HELD && l->step[i].kind != LADDER_ACK)
            return i;
    return l->count - 1;
}

/* How long bytes were held; 0 if none were. */
static int64_t held_ns(const struct ladder *l) {
    for (unsigned i = 0; i < l->count; i++)
        if (l->step[i].kind == LADDER_HELD)
            return l->step[hold_ends(l, i)].at_ns - l->step[i].at_ns;
    return 0;
}

/* "200 bytes", "acknowledgement, delayed" */
static const char *label_of(const struct ladder_step *s, char text[64]) {
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
            json_real(j, "held_ms", (double)held_ns(l) / 1e6);
        json_unsigned(j, "bytes", s->bytes);
        json_string(j, "label", label_of(s, label));
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

/* ---- as text --------------------------------------------------------- */

/* The longest label has 24 columns. */
enum { TIME_MOST = 12, TIME_LEAST = 8, SPAN_MOST = 46, SPAN_LEAST = 28, LINES = 3 };

struct sheet {
    FILE *out;
    bool ascii;
    unsigned width;
    int time, span; /* columns of the time, and between the life lines */
};

static struct sheet sheet_of(FILE *out, unsigned width, bool ascii) {
    struct sheet s = {.out = out, .ascii = ascii, .width = width, .time = TIME_MOST, .span = SPAN_MOST};
    if (width < LADDER_COLUMNS) {
        s.time = TIME_LEAST;
        s.span = (int)width - TIME_LEAST - LINES - 1;
    }
    s.span = s.span < SPAN_LEAST ? SPAN_LEAST : s.span > SPAN_MOST ? SPAN_MOST : s.span;
    return s;
}

/* An arrow over the span with its label in the middle. */
static void text_arrow(const struct sheet *sheet, const struct ladder_step *s) {
    FILE *out = sheet->out;
    char label[64];
    bool right = s->kind == LADDER_DATA, ascii = sheet->ascii;
    const char *dash = ascii ? "-" : "─";
    int used = (int)strlen(label_of(s, label)) + 4, left = (sheet->span - used) / 2;
    fputs(right ? dash : ascii ? "<" : "◀", out);
    for (int i = 0; i < left; i++)
        fputs(dash, out);
    fprintf(out, " %s ", label);
    for (int i = left + used; i < sheet->span; i++)
        fputs(dash, out);
    fputs(right ? ascii ? ">" : "▶" : dash, out);
}

static void text_gap(const struct sheet *sheet, const struct ladder *l, unsigned held) {
    const char *line = sheet->ascii ? "|" : "│", *wait = sheet->ascii ? "#" : "█";
    char label[64], note[96];
    label_of(&l->step[held], label);
    snprintf(note, sizeof(note), "%.1f ms", (double)held_ns(l) / 1e6);
    char *by = (int)strlen(label) > sheet->span - 2 ? strstr(label, " by ") : NULL;
    const char *const rows[] = {label, by ? by + 1 : note, by ? note : ""};
    if (by)
        *by = '\0';
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fprintf(sheet->out, "%*s ", sheet->time, "");
        fputs(wait, sheet->out);
        fputs("  ", sheet->out);
        print_left(sheet->out, rows[i], (size_t)sheet->span - 2);
        fprintf(sheet->out, "%s\n", line);
    }
}

/* The names stand above their lines; two that do not fit beside one another have a line each. */
static void text_names(const struct sheet *sheet, const struct ladder *l) {
    FILE *out = sheet->out;
    size_t writer = columns_of(l->writer), peer = columns_of(l->peer), above = (size_t)sheet->span + 1;
    size_t room = sheet->width - (size_t)sheet->time - 1, begins = above > peer / 2 ? above - peer / 2 : 0;
    const char *predicted = sheet->time < TIME_MOST ? "would be" : "predicted";
    fprintf(out, "%*s ", sheet->time, l->predicted ? predicted : "ms");
    if (begins + peer > room)
        begins = room > peer ? room - peer : 0;
    if (writer + 1 > begins) {
        fprintf(out, "%s\n%*s ", l->writer, sheet->time, "");
        writer = 0;
    } else {
        fputs(l->writer, out);
    }
    fprintf(out, "%*s%s\n", (int)(begins - writer), "", l->peer);
}

void ladder_text(FILE *out, const struct ladder *l, unsigned width, bool ascii) {
    const struct sheet sheet = sheet_of(out, width, ascii);
    const char *line = ascii ? "|" : "│";
    text_names(&sheet, l);
    for (unsigned i = 0; i < l->count; i++) {
        const struct ladder_step *s = &l->step[i];
        if (s->kind == LADDER_HELD) {
            text_gap(&sheet, l, i);
            continue;
        }
        fprintf(out, "%*.3f %s", sheet.time, (double)s->at_ns / 1e6, line);
        text_arrow(&sheet, s);
        fprintf(out, "%s\n", line);
    }
}
