/* SPDX-License-Identifier: MIT
 *
 * What a page shows beside the numbers: the subject, the next command, a typical exchange as ladders, the
 * distribution of the verdict's endpoint.  src/pages draws it.
 */
#include <string.h>

#include "counters.h"
#include "format.h"
#include "ladder.h"
#include "late.h"
#include "report.h"
#include "report_facts.h"
#include "sites.h"
#include "stats_names.h"

/* ---- a typical exchange ---------------------------------------------- */

enum { QUICK_MOST_NS = LATE_IN_LIBRARY_MS * 1000000 };

/* The exchange of the same endpoint in a mode that cured its stalls, if the files have one; else a
 * prediction. */
static void cured_ladder(struct json *j, const struct reader_row *row, struct ladder l,
                         const uint64_t pieces[2], bool behind) {
    const struct reader_tally *t = &row->tally;
    char text[200] = "Predicted, with unstall: the pieces leave as one segment, at once.";
    char cured[NAME_ROOM], count[NAME_ROOM];
    uint64_t quick[HISTOGRAM_BUCKETS] = {0}, n = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram_lowest(i, HISTOGRAM_STEPS) < QUICK_MOST_NS)
            n += quick[i] = t->exchange[i];
    l.predicted = !t->counter[COUNT_STALLS_CURED] || !n;
    if (!l.predicted) {
        uint64_t ns = reader_quantile(quick, HISTOGRAM_STEPS, 0.5);
        snprintf(text, sizeof(text),
                 "Measured, with unstall: %s stalls were cured; the median of the %s exchanges "
                 "that did not stall.",
                 count_text(t->counter[COUNT_STALLS_CURED], cured), count_text(n, count));
        ladder_add(&l, LADDER_DATA, 0, 0);
        ladder_add(&l, row->id.role == ROLE_LISTENER ? LADDER_NEXT : LADDER_ANSWER, (int64_t)ns, 0);
    } else if (behind) {
        snprintf(text, sizeof(text), "Predicted, with unstall: the second message leaves at once, too.");
        ladder_add(&l, LADDER_DATA, 0, pieces[0]);
        ladder_add(&l, LADDER_DATA, 0, pieces[1]);
    } else {
        ladder_add(&l, LADDER_DATA, 0, pieces[0] && pieces[1] ? pieces[0] + pieces[1] : 0);
    }
    ladder_json(j, &l, text);
}

/* The mean stall of the row, with the pieces of its pair of call sites that lost most. */
static void typical(struct json *j, const struct report *r, const struct reader_row *row, bool behind) {
    uint64_t pieces[2] = {0, 0};
    const struct reader_tally *t = &row->tally;
    char endpoint[ENDPOINT_ROOM];
    sites_pieces(r->files, &row->id, pieces);
    int64_t mean = (int64_t)(lost_ns(t) / proved_stalls(t));
    bool listener = row->id.role == ROLE_LISTENER;
    row_words(&row->id, endpoint);
    struct ladder stalled = {.writer = listener ? endpoint : "the program",
                             .peer = listener ? "a client" : endpoint};
    const struct ladder empty = stalled;
    ladder_add(&stalled, LADDER_DATA, 0, pieces[0]);
    ladder_add(&stalled, LADDER_HELD, 0, pieces[1]);
    ladder_add(&stalled, LADDER_ACK, mean, 0);
    ladder_add(&stalled, LADDER_DATA, mean, pieces[1]);
    ladder_json(j, &stalled,
                "From the means of the statistics: the time of a stall, and the sizes of the "
                "pieces where they were kept.");
    cured_ladder(j, row, empty, pieces, behind);
}

/* ---- the members ----------------------------------------------------- */

static void distribution(struct json *j, const struct report *r, const struct reader_row *row) {
    char endpoint[ENDPOINT_ROOM], caption[ENDPOINT_ROOM + 80];
    bool modes = modes_differ(r);
    bool listener = row->id.role == ROLE_LISTENER;
    snprintf(caption, sizeof(caption), "%s %s%s%s%s", listener ? "At" : "With",
             row_words(&row->id, endpoint), modes ? " in mode " : "", modes ? mode_name(row->id.mode) : "",
             listener ? ", with the peer's time until it sends again" : "");
    json_object(j, "distribution");
    json_string(j, "caption", caption);
    json_array(j, "bins");
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        json_bin(j, (double)histogram_lowest(i, HISTOGRAM_STEPS),
                 (double)histogram_lowest(i + 1, HISTOGRAM_STEPS), row->tally.exchange[i]);
    json_array_end(j);
    json_object_end(j);
}

static void advice(struct json *j, const struct report *r, bool unnamed) {
    const struct report_verdict *v = r->verdict;
    struct prose next = {.used = 0}, who = {.used = 0};
    const char *source = NULL;
    bool is_next = report_next(&next, r, v);
    if (is_next && v->found == FOUND_STALLS)
        source = v->behind ? "In the source: set TCP_NODELAY. The message that waits is one write: there "
                             "are no pieces to join."
                           : "In the source: send the pieces of a message by one call (a buffer, writev), or "
                             "set TCP_CORK around them, or set TCP_NODELAY.";
    report_who(&who, r, unnamed);
    json_object(j, "advice");
    json_string(j, "next", is_next ? next.text : NULL);
    json_string(j, "source", source);
    json_string(j, "who", who.used ? who.text : NULL);
    json_object_end(j);
}

void report_words(struct json *j, const struct report *r, bool unnamed) {
    const struct report_verdict *v = r->verdict;
    char subject[PROGRAMS_ROOM];
    struct prose losses[REPORT_LOSSES];
    programs_text(r->files, v->found == FOUND_STALLS ? v->row : NULL, subject);
    const struct reader_row *row = v->found == FOUND_NOTHING ? NULL : v->row;
    json_string(j, "subject", subject);
    advice(j, r, unnamed);
    json_array(j, "ladders");
    if (row && proved_stalls(&row->tally))
        typical(j, r, row, v->behind);
    json_array_end(j);
    if (row)
        distribution(j, r, row);
    else
        json_null(j, "distribution");
    json_array(j, "gaps");
    unsigned count = report_losses(r->files, losses);
    for (unsigned i = 0; i < count; i++)
        json_string(j, NULL, losses[i].text);
    json_array_end(j);
}
