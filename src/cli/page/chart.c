/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "format.h"
#include "page.h"

enum { WIDTH = 440, LEFT = 8, RIGHT = 432, TOP = 24, BOTTOM = 130, HEIGHT = 156 };
enum { PIXELS = RIGHT - LEFT, BARS = 72 };

static void begin(FILE *out, const char *caption, const char *label) {
    fputs("<figure>\n<figcaption>", out);
    page_text(out, caption);
    fprintf(out, "</figcaption>\n<svg role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"", WIDTH,
            HEIGHT);
    page_text(out, label);
    fputs("\">\n", out);
}

static void end(FILE *out) {
    fprintf(out,
            "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" style=\"stroke: "
            "var(--ink)\"/>\n</svg>\n</figure>\n",
            LEFT, BOTTOM, RIGHT, BOTTOM);
}

static void tick(FILE *out, double x, const char *anchor, const char *text) {
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">", x, BOTTOM + 18, anchor);
    page_text(out, text);
    fputs("</text>\n", out);
}

static void bar(FILE *out, double x, double width, double share) {
    double height = share * (BOTTOM - TOP);
    if (height < 1)
        height = 1; /* so that one event of a million is visible */
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" style=\"fill: "
            "var(--line)\"/>\n",
            x, BOTTOM - height, width, height);
}

/* The decades that the axis begins and ends with. */
struct axis {
    double low, high; /* log10 of ns */
};

static double at(const struct axis *a, double ns) {
    return LEFT + (log10(ns) - a->low) / (a->high - a->low) * PIXELS;
}

static struct axis axis_of(const struct chart_bin *bins, size_t count) {
    struct axis a = {INFINITY, -INFINITY};
    for (size_t i = 0; i < count; i++) {
        if (!bins[i].count)
            continue;
        a.low = fmin(a.low, log10(fmax(bins[i].low_ns, 1)));
        a.high = fmax(a.high, log10(bins[i].high_ns));
    }
    a.low = fmin(floor(a.low), 6); /* the axis has 1 ms and 100 ms in every picture */
    a.high = fmax(ceil(a.high), 8);
    return a;
}

void chart_distribution(FILE *out, const struct chart_bin *bins, size_t count,
                        const char *caption) {
    uint64_t bars[BARS] = {0}, highest = 0, sum = 0;
    char text[NAME_ROOM];
    struct axis a = axis_of(bins, count);
    for (size_t i = 0; i < count; i++) {
        if (!bins[i].count)
            continue;
        double middle = (at(&a, fmax(bins[i].low_ns, 1)) + at(&a, bins[i].high_ns)) / 2;
        size_t n = (size_t)((middle - LEFT) / PIXELS * BARS);
        uint64_t *into = &bars[n < BARS ? n : BARS - 1];
        *into += bins[i].count;
        highest = *into > highest ? *into : highest;
        sum += bins[i].count;
    }
    if (!sum)
        return;
    char label[160];
    snprintf(label, sizeof(label), "%s values on a logarithmic axis; 40 ms is marked",
             count_text(sum, text));
    begin(out, caption, label);
    for (size_t i = 0; i < BARS; i++)
        if (bars[i])
            bar(out, LEFT + (double)i * PIXELS / BARS, (double)PIXELS / BARS - 0.5,
                (double)bars[i] / (double)highest);
    double forty = at(&a, 40e6);
    fprintf(out,
            "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke-dasharray=\"4 3\" "
            "style=\"stroke: var(--stall)\"/><text x=\"%.1f\" y=\"16\" text-anchor=\"middle\">40 "
            "ms</text>\n",
            forty, TOP, forty, BOTTOM, forty);
    for (int d = (int)a.low; d <= (int)a.high; d++)
        tick(out, LEFT + (d - a.low) / (a.high - a.low) * PIXELS,
             d == (int)a.low    ? "start"
             : d == (int)a.high ? "end"
                                : "middle",
             time_text((uint64_t)pow(10, d), false, text));
    end(out);
}

/* A box of a part of the time: filled for stalls, an outline for others. */
static void box(FILE *out, double x, double y, double width, double height, bool filled) {
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" style=\"%s\"/>\n",
            filled ? x : x + 0.5, y, filled ? width : width - 1, height,
            filled ? "fill: var(--stall)" : "fill: none; stroke: var(--line)");
}

static void legend(FILE *out, double x, bool filled, const char *text) {
    box(out, x, 6, 10, 10, filled);
    fprintf(out, "<text x=\"%.1f\" y=\"16\">%s</text>\n", x + 15, text);
}

void chart_timeline(FILE *out, const uint32_t *stalled, const uint32_t *other, size_t count,
                    int64_t part_ns, int64_t whole_ns, const char *caption) {
    uint64_t highest = 0, stalls = 0, others = 0;
    char text[NAME_ROOM], more[NAME_ROOM], whole[NAME_ROOM], label[200];
    for (size_t i = 0; i < count; i++) {
        uint64_t both = (uint64_t)stalled[i] + other[i];
        highest = both > highest ? both : highest;
        stalls += stalled[i];
        others += other[i];
    }
    if (!highest)
        return;
    time_text((uint64_t)whole_ns, false, whole);
    snprintf(label, sizeof(label), "%s stalled and %s not, in %s", count_text(stalls, text),
             count_text(others, more), whole);
    begin(out, caption, label);
    legend(out, LEFT, true, "stalled");
    legend(out, LEFT + 80, false, "not stalled");
    snprintf(label, sizeof(label), "most in one bar: %s", count_text(highest, text));
    fprintf(out, "<text x=\"%d\" y=\"16\" text-anchor=\"end\">%s</text>\n", RIGHT, label);
    double unit = (double)(BOTTOM - TOP) / (double)highest;
    double full = PIXELS * (double)part_ns / (double)whole_ns;
    for (size_t i = 0; i < count; i++) {
        double x = LEFT + (double)i * full, low = unit * stalled[i], wide = fmin(full, fmax(RIGHT - x, 1));
        if (stalled[i]) /* at least a pixel, so that one of a million is visible */
            box(out, x, BOTTOM - fmax(low, 1), wide - 0.5, fmax(low, 1), true);
        if (other[i])
            box(out, x, BOTTOM - low - unit * other[i], wide - 0.5, unit * other[i], false);
    }
    tick(out, LEFT, "start", "0");
    tick(out, RIGHT, "end", whole);
    end(out);
}
