/* SPDX-License-Identifier: MIT */
#include "ladder.h"
#include "page.h"

enum { WIDTH = 440, LEFT = 90, RIGHT = 410, TOP = 74, LINE = 30, DRAWN_MS = 220, PX_PER_MS = 4 };

/* Pixels for a millisecond: fewer if the exchange is long. */
static double scale_of(const struct ladder *l) {
    double ms = l->count ? (double)l->step[l->count - 1].at_ns / 1e6 : 0;
    return ms * PX_PER_MS > DRAWN_MS ? DRAWN_MS / ms : PX_PER_MS;
}

/* The vertical place of each step.  A held step takes no line of its own: it begins at the step before it. */
static double place(const struct ladder *l, double y[LADDER_STEPS]) {
    double scale = scale_of(l), last = TOP - LINE;
    for (unsigned i = 0; i < l->count; i++) {
        double wanted = TOP + (double)l->step[i].at_ns / 1e6 * scale;
        bool apart = l->step[i].kind != LADDER_HELD;
        y[i] = apart && wanted < last + LINE ? last + LINE : wanted < last ? last : wanted;
        last = y[i];
    }
    return last;
}

static void arrow(FILE *out, const struct ladder_step *s, double y) {
    char label[64];
    bool right = s->kind == LADDER_DATA;
    int tip = right ? RIGHT : LEFT, back = right ? -9 : 9;
    fprintf(out, "<g data-kind=\"%s\" data-at-ms=\"%.6f\">",
            right                    ? "data"
            : s->kind == LADDER_ACK  ? "ack"
            : s->kind == LADDER_NEXT ? "next"
                                     : "answer",
            (double)s->at_ns / 1e6);
    fprintf(out,
            "<line x1=\"%d\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\" style=\"stroke: var(--line)\"/>",
            LEFT, y, RIGHT, y);
    fprintf(out, "<path d=\"M%d %.2fl%d -5v10z\" style=\"fill: var(--line)\"/>", tip, y, back);
    fprintf(out, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"middle\">", (LEFT + RIGHT) / 2, y - 5);
    page_text(out, ladder_label(s, label));
    fprintf(out, "</text><text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%.3f ms</text></g>\n",
            LEFT - 12, y + 4, (double)s->at_ns / 1e6);
}

static void held(FILE *out, const struct ladder *l, unsigned i, double from, double until) {
    char label[64];
    double ms = (double)ladder_held_ns(l) / 1e6, middle = (from + until) / 2;
    fprintf(out, "<g data-kind=\"held\" data-at-ms=\"%.6f\" data-held-ms=\"%.6f\">",
            (double)l->step[i].at_ns / 1e6, ms);
    fprintf(out,
            "<rect x=\"%d\" y=\"%.2f\" width=\"10\" height=\"%.2f\" style=\"fill: var(--stall)\"/>",
            LEFT - 5, from, until - from);
    fprintf(out, "<text x=\"%d\" y=\"%.2f\">", LEFT + 14, middle - 4);
    page_text(out, ladder_label(&l->step[i], label));
    fprintf(out,
            "</text><text x=\"%d\" y=\"%.2f\" style=\"font-weight: bold\">%.1f ms</text></g>\n",
            LEFT + 14, middle + 14, ms);
}

/* The names stand in two lines: two addresses of IPv6 are wider than the picture. */
static void life_line(FILE *out, int x, double bottom, const char *name, bool left) {
    fprintf(out,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%.2f\" style=\"stroke: var(--ink)\"/>"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">",
            x, left ? 22 : 38, x, bottom, left ? 2 : WIDTH - 2, left ? 15 : 32,
            left ? "start" : "end");
    page_text(out, name);
    fputs("</text>\n", out);
}

/* The picture as text, for screen readers. */
static void spoken(FILE *out, const struct ladder *l) {
    char label[64];
    for (unsigned i = 0; i < l->count; i++) {
        const struct ladder_step *s = &l->step[i];
        fprintf(out, "%s%.3f ms: ", i ? "; " : "", (double)s->at_ns / 1e6);
        page_text(out, ladder_label(s, label));
        if (s->kind == LADDER_HELD)
            fprintf(out, " for %.1f ms", (double)ladder_held_ns(l) / 1e6);
        else
            fputs(s->kind == LADDER_DATA ? " to the peer" : " from the peer", out);
    }
}

void ladder_figure(FILE *out, const struct ladder *l, const char *caption) {
    double y[LADDER_STEPS] = {0}, bottom = place(l, y) + 20;
    fputs("<figure>\n<figcaption>", out);
    page_text(out, caption);
    fprintf(out,
            "</figcaption>\n<svg role=\"img\" viewBox=\"0 0 %d %.0f\" data-px-per-ms=\"%.6f\" "
            "aria-label=\"",
            WIDTH, bottom + 10, scale_of(l));
    spoken(out, l);
    fputs("\">\n", out);
    life_line(out, LEFT, bottom, l->writer, true);
    life_line(out, RIGHT, bottom, l->peer, false);
    for (unsigned i = 0; i < l->count; i++) {
        if (l->step[i].kind != LADDER_HELD) {
            arrow(out, &l->step[i], y[i]);
            continue;
        }
        held(out, l, i, y[i], y[ladder_hold_ends(l, i)]);
    }
    fputs("</svg>\n</figure>\n", out);
}
