/* SPDX-License-Identifier: MIT */
#include "bars.h"

#include "format.h"
#include "prose.h"
#include "reader.h"
#include "terminal.h"

enum { MOST_LINES = 12, MOST_BINS = HISTOGRAM_OCTAVES * 4 + 2, GAP = 3 };

/* The histogram with fewer steps an octave. */
struct bins {
    unsigned steps, first, last; /* first and last non-empty bin */
    uint64_t count[MOST_BINS];
    uint64_t highest;
};

static struct bins bins_of(const uint64_t *buckets, unsigned steps) {
    struct bins b = {.steps = steps, .first = MOST_BINS};
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (!buckets[i])
            continue;
        unsigned bin = histogram_bucket_of(histogram_lowest(i, HISTOGRAM_STEPS), steps);
        b.count[bin] += buckets[i];
        if (b.count[bin] > b.highest)
            b.highest = b.count[bin];
        if (bin < b.first)
            b.first = bin;
        b.last = bin;
    }
    return b;
}

/* The number of empty bins from this one on. */
static unsigned gap_at(const struct bins *b, unsigned bin) {
    unsigned n = 0;
    while (bin + n < b->last && !b->count[bin + n])
        n++;
    return n;
}

static unsigned lines_of(const struct bins *b) {
    unsigned lines = 0;
    for (unsigned i = b->first; i <= b->last; i++) {
        unsigned gap = gap_at(b, i);
        if (gap >= GAP)
            i += gap - 1;
        lines++;
    }
    return lines;
}

static void bar(FILE *out, uint64_t count, uint64_t highest, unsigned room, bool ascii) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned parts = ascii ? 1 : 8;
    double share = (double)count / (double)highest;
    unsigned length = (unsigned)(share * room * parts + 0.5);
    if (length == 0 && count)
        length = 1;
    for (unsigned i = 0; i < length / parts; i++)
        fputs(ascii ? "#" : "█", out);
    fputs(eighths[length % parts], out);
    unsigned used = length / parts + (length % parts != 0);
    while (used++ < room)
        fputc(' ', out);
}

void bars_print(FILE *out, const uint64_t *buckets, unsigned width, bool ascii) {
    char text[NAME_ROOM];
    struct bins b = {.steps = 0};
    for (unsigned steps = 4; steps; steps /= 2) {
        b = bins_of(buckets, steps);
        if (lines_of(&b) <= MOST_LINES)
            break;
    }
    if (b.first == MOST_BINS)
        return;
    const unsigned counts = (unsigned)columns_of(count_text(b.highest, text));
    const unsigned beside = 2 + 8 + 3 + 8 + 2 + 1 + counts;
    unsigned room = width > beside + 10 ? width - beside : 10;
    for (unsigned i = b.first; i <= b.last; i++) {
        unsigned gap = gap_at(&b, i);
        if (gap >= GAP) {
            print_right(out, ascii ? ":" : "⋮", 2 + 8);
            fputc('\n', out);
            i += gap - 1;
            continue;
        }
        fputs("  ", out);
        print_right(out, time_text(histogram_lowest(i, b.steps), ascii, text), 8);
        fputs(ascii ? " - " : " – ", out);
        print_left(out, i <= HISTOGRAM_OCTAVES * b.steps
                            ? time_text(histogram_lowest(i + 1, b.steps), ascii, text)
                            : "", 8);
        fputs("  ", out);
        fputs(colour(out, CYAN), out);
        bar(out, b.count[i], b.highest, room, ascii);
        fputs(colour(out, PLAIN), out);
        fputc(' ', out);
        print_right(out, b.count[i] ? count_text(b.count[i], text) : "", counts);
        fputc('\n', out);
    }
}
