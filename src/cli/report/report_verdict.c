/* SPDX-License-Identifier: MIT */
#include "report_verdict.h"

#include <limits.h>
#include <string.h>

#include "format.h"
#include "late.h"
#include "report_facts.h"
#include "stats_names.h"

/* The application's own time, or the time of an answer, is mentioned where it is as long as a stall. */
enum { SLOW_NS = LATE_DELAY_MS * 1000000, START_LEAST_NS = 10000000 };

#define START_MOST_NS UINT64_C(10000000000)

struct texts {
    char a[NAME_ROOM], b[NAME_ROOM], c[NAME_ROOM], d[NAME_ROOM], endpoint[ENDPOINT_ROOM];
};

const char *report_found_name(enum found found) {
    static const char *const names[] = {
        [FOUND_STALLS] = "stalls",       [FOUND_PEER_STALLS] = "peer-stalls",
        [FOUND_CURED] = "cured",         [FOUND_SUSPECTED] = "suspected",
        [FOUND_UNSEEN] = "unseen",       [FOUND_APPLICATION] = "application",
        [FOUND_NO_STALL] = "no-stall",   [FOUND_NOT_LOOKED] = "not-looked",
        [FOUND_NOTHING] = "nothing"};
    return names[found];
}

static const char *with(const struct stats_row *row) {
    return row->role == ROLE_LISTENER ? "at" : "with";
}

static uint64_t mean(uint64_t sum, uint64_t count) {
    return count ? sum / count : 0;
}

/* ---- which row ------------------------------------------------------- */

typedef uint64_t weight_fn(const struct reader_row *row);

/* The library cures what waits behind an earlier message once it has seen that: a row of such a mode has a
 * stall or two, and the cured ones. */
static bool seen_first(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    return stats_mode_cures(row->id.mode) && c[COUNT_STALLS_CURED] > 0 &&
           c[COUNT_STALLS_CROSSING] >= proved_stalls(&row->tally);
}

static uint64_t stall_weight(const struct reader_row *row) {
    return proved_stalls(&row->tally) && !seen_first(row) ? lost_ns(&row->tally) + proved_stalls(&row->tally)
                                                          : 0;
}

static uint64_t peer_weight(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    return c[COUNT_PEER_STALLS] ? c[COUNT_PEER_STALL_NS] + c[COUNT_PEER_STALLS] : 0;
}

static uint64_t cured_weight(const struct reader_row *row) {
    return row->tally.counter[COUNT_STALLS_CURED];
}

static uint64_t suspected_weight(const struct reader_row *row) {
    return row->tally.counter[COUNT_STALLS_SUSPECTED];
}

/* Not 0 if more bytes were sent than the library saw written: its counts then say little. */
static uint64_t unseen_weight(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    if (c[COUNT_UNSEEN_BYTES] ? c[COUNT_UNSEEN_BYTES] <= c[COUNT_BYTES] : c[COUNT_WRITES] > 0)
        return 0;
    return c[COUNT_UNSEEN_BYTES] + c[COUNT_UNTRACKED];
}

static uint64_t use_weight(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    return c[COUNT_EXCHANGES] ? c[COUNT_EXCHANGES] + (UINT64_C(1) << 62)
                              : c[COUNT_WRITES] + c[COUNT_READS] + unseen_weight(row);
}

static const struct reader_row *heaviest(const struct reader_row *rows, size_t count,
                                         weight_fn *weight) {
    const struct reader_row *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (weight(&rows[i]) && (!best || weight(&rows[i]) > weight(best)))
            best = &rows[i];
    return best;
}

/* True if every process with this row has another mode by now, from `least` to `most`.  The rows of an
 * experiment have the modes of its arms. */
static bool is_past(const struct stats_files *s, const struct reader_row *row, unsigned *least,
                    unsigned *most) {
    *least = UINT_MAX;
    *most = 0;
    for (size_t i = 0; i < s->count; i++) {
        unsigned mode = s->list[i]->header.mode;
        if (!row_in(s->list[i], row))
            continue;
        if (row->id.arm != 0xff || mode == row->id.mode)
            return false;
        *least = mode < *least ? mode : *least;
        *most = mode > *most ? mode : *most;
    }
    return true;
}

/* Of the rows that stall still; where each has been replaced by a mode that cures, of those: `past`. */
static const struct reader_row *heaviest_stalls(const struct stats_files *files,
                                                const struct reader_row *rows, size_t count, bool *past) {
    const struct reader_row *best[2] = {NULL, NULL};
    for (size_t i = 0; i < count; i++) {
        unsigned least, most;
        if (!stall_weight(&rows[i]))
            continue;
        bool cured = is_past(files, &rows[i], &least, &most) && stats_mode_cures(least);
        if (!best[cured] || stall_weight(&rows[i]) > stall_weight(best[cured]))
            best[cured] = &rows[i];
    }
    *past = !best[false] && best[true];
    return best[*past];
}

static uint64_t sum(const struct reader_row *rows, size_t count, enum stats_counter what) {
    uint64_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += rows[i].tally.counter[what];
    return n;
}

/* The exchanges of a row in a mode that looks for stalls. */
static struct verdict seen_in(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    uint64_t firsts = c[COUNT_CONNECTIONS] < c[COUNT_EXCHANGES] ? c[COUNT_CONNECTIONS] : c[COUNT_EXCHANGES];
    return (struct verdict){.exchanges = c[COUNT_EXCHANGES], .firsts = firsts};
}

/* ---- the sentences --------------------------------------------------- */

/* The usual number of writes in a message, in words.  Without an exchange no read was seen that ends a
 * message (stdio's on a duplicate, say): writes are known, messages are not. */
static const char *pieces(const struct reader_tally *t) {
    const uint64_t *c = t->counter;
    if (!c[COUNT_EXCHANGES])
        return "small writes and Nagle holds all but the first";
    uint64_t two = c[COUNT_BURSTS_2], three = c[COUNT_BURSTS_3];
    uint64_t more = c[COUNT_BURSTS_4_7] + c[COUNT_BURSTS_8];
    if (two >= three && two >= more)
        return "two small writes and Nagle holds the second";
    if (three >= more)
        return "three small writes and Nagle holds all but the first";
    return "many small writes and Nagle holds all but the first";
}

static bool mostly_behind(const struct reader_row *row) {
    return row->tally.counter[COUNT_STALLS_CROSSING] * 2 > proved_stalls(&row->tally);
}

/* What the program does, and what Nagle's algorithm makes of it. */
static void cause(struct prose *p, const struct reader_row *row) {
    const char *what = row->id.role == ROLE_LISTENER ? "answer" : "message";
    if (mostly_behind(row))
        prose_add(p, "it sends a small %s while the one before is not acknowledged yet, and Nagle holds it",
                  what);
    else
        prose_add(p, "it sends each %s in %s", what, pieces(&row->tally));
}

/* "in 96 of 100 exchanges".  A stall that the peer's end follows is in a message without an answer, which is
 * no exchange. */
static void how_often(struct prose *p, const struct reader_row *row) {
    struct texts t;
    const uint64_t *c = row->tally.counter;
    const struct verdict seen = seen_in(row);
    uint64_t proved = proved_stalls(&row->tally), messages = c[COUNT_MESSAGES];
    bool unanswered = seen.exchanges && proved > verdict_exchanges(&seen) && messages > seen.exchanges;
    uint64_t all = unanswered ? messages : seen.exchanges;
    if (all >= proved)
        prose_add(p, " in %s of %s %s", count_text(proved, t.a), count_text(all, t.b),
                  unanswered ? "messages" : "exchanges");
    else
        prose_add(p, " %s times", count_text(proved, t.a));
}

/* Of the processes with this row. */
static bool one_runs(const struct stats_files *files, const struct reader_row *row) {
    for (size_t i = 0; i < files->count; i++)
        if (files->list[i]->life == LIFE_RUNS && row_in(files->list[i], row))
            return true;
    return false;
}

static void stalls(struct prose *p, const struct stats_files *files, const struct reader_row *row,
                   bool ascii) {
    struct texts t;
    char name[PROGRAMS_ROOM];
    const uint64_t *c = row->tally.counter;
    uint64_t proved = proved_stalls(&row->tally), bound = c[COUNT_STALLS_BOUND];
    size_t programs = programs_text(files, row, name);
    unsigned least, most;
    bool past = is_past(files, row, &least, &most);
    const char *loses = past ? "lost" : programs > 1 ? "lose" : "loses";
    prose_add(p, "%s %s %s%s", name, loses, bound * 2 > proved ? "up to " : "",
              time_text(mean(lost_ns(&row->tally), proved), ascii, t.a));
    how_often(p, row);
    prose_add(p, " %s %s", with(&row->id), row_words(&row->id, t.endpoint));
    if (past)
        prose_add(p, ", on connections that began in mode %s", mode_name(row->id.mode));
    prose_add(p, ": ");
    cause(p, row);
    prose_add(p, ". %s%s lost.", bound ? "At most " : "", time_text(lost_ns(&row->tally), ascii, t.d));
    bool runs = one_runs(files, row);
    if (past && least == most)
        prose_add(p, runs ? " The mode is %s now." : " The mode was %s at the end.", mode_name(most));
    else if (past)
        prose_add(p, " The modes %s, from %s to %s.", runs ? "are others now" : "were others at the end",
                  mode_name(least), mode_name(most));
}

/* Some of the row's stalls are of another kind than its sentence says. */
static void also_behind(struct report_verdict *v, const struct reader_row *row) {
    struct texts t;
    uint64_t crossing = row->tally.counter[COUNT_STALLS_CROSSING];
    if (crossing && !mostly_behind(row))
        prose_add(&v->note[v->note_count++],
                  "In %s of these stalls a small message was held behind an earlier one that was not "
                  "acknowledged yet.",
                  count_text(crossing, t.a));
}

static struct prose *next_note(struct report_verdict *v) {
    return &v->note[v->note_count < REPORT_NOTES ? v->note_count++ : REPORT_NOTES - 1];
}

/* ", at 3 endpoints", of the rows that weigh something; "" where it is one.  An endpoint may have several
 * rows: both of its ends, and one in each mode. */
static const char *places_text(const struct reader_row *rows, size_t count, weight_fn *weight,
                               char text[NAME_ROOM]) {
    size_t places = 0;
    for (size_t i = 0; i < count; i++) {
        bool first = weight(&rows[i]) != 0;
        for (size_t k = 0; k < i && first; k++)
            first = !weight(&rows[k]) ||
                    memcmp(&rows[k].id.endpoint, &rows[i].id.endpoint, sizeof(rows[i].id.endpoint)) != 0;
        places += first;
    }
    snprintf(text, NAME_ROOM, ", at %zu endpoints", places);
    return places > 1 ? text : "";
}

/* The sentence on cured messages tells one row. */
static void all_cured(struct report_verdict *v, const struct reader_row *rows, size_t count,
                      const struct reader_row *told) {
    struct texts t;
    uint64_t all = sum(rows, count, COUNT_STALLS_CURED);
    if (all > told->tally.counter[COUNT_STALLS_CURED])
        prose_add(next_note(v), "In all, up to %s messages would have stalled%s.", count_text(all, t.a),
                  places_text(rows, count, cured_weight, t.b));
}

static void all_stalls(struct report_verdict *v, const struct reader_row *rows, size_t count, bool ascii) {
    struct texts t;
    size_t places = 0;
    uint64_t lost = 0, stalls = 0;
    for (size_t i = 0; i < count; i++) {
        if (!stall_weight(&rows[i]))
            continue;
        places++;
        lost += lost_ns(&rows[i].tally);
        stalls += proved_stalls(&rows[i].tally);
    }
    if (places > 1)
        prose_add(&v->note[v->note_count++], "In all, %s were lost in %s stalls%s.",
                  time_text(lost, ascii, t.a), count_text(stalls, t.b),
                  places_text(rows, count, stall_weight, t.c));
}

/* Are these the two ends of a connection?  A listener at any address is known by the local addresses of
 * what it has accepted. */
static bool are_ends(const struct stats_files *files, const struct stats_row *listener,
                     const struct stats_address *to) {
    if (memcmp(&listener->endpoint, to, sizeof(*to)) == 0)
        return true;
    for (size_t i = 0; i < files->count && listener->endpoint.port == to->port; i++)
        for (size_t k = 0; k < files->list[i]->connection_count; k++) {
            const struct stats_connection *c = &files->list[i]->connections[k];
            const struct reader_row *row = reader_row_at(files->list[i], c->row);
            if (row && stats_same_row(&row->id, listener) && memcmp(&c->local, to, sizeof(*to)) == 0)
                return true;
        }
    return false;
}

/* True if the stalls of the peer are in these statistics as its own: they are told once. */
static bool is_told(const struct stats_files *files, const struct reader_row *rows, size_t count,
                    const struct reader_row *row) {
    uint64_t own = 0;
    for (size_t i = 0; i < count; i++) {
        const struct stats_row *listener = row->id.role == ROLE_LISTENER ? &row->id : &rows[i].id;
        const struct stats_row *other = row->id.role == ROLE_LISTENER ? &rows[i].id : &row->id;
        if (listener->role == ROLE_LISTENER && other->role == ROLE_DESTINATION &&
            are_ends(files, listener, &other->endpoint))
            own += proved_stalls(&rows[i].tally);
    }
    return own * 2 >= row->tally.counter[COUNT_PEER_STALLS];
}

static const struct reader_row *heaviest_peer(const struct stats_files *files, const struct reader_row *rows,
                                              size_t count) {
    const struct reader_row *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (peer_weight(&rows[i]) > (best ? peer_weight(best) : 0) && !is_told(files, rows, count, &rows[i]))
            best = &rows[i];
    return best;
}

static void peer(struct prose *p, const struct reader_row *row, bool ascii) {
    struct texts t;
    const uint64_t *c = row->tally.counter;
    const char *clients = row->id.role == ROLE_LISTENER ? "the clients of " : "";
    prose_add(
        p,
        "The peer stalls: from %s%s the rest of %s messages came a delayed acknowledgement late, "
        "%s each, %s lost: cure it there, or here by UNSTALL_QUICKACK=auto.",
        clients, row_words(&row->id, t.endpoint), count_text(c[COUNT_PEER_STALLS], t.a),
        time_text(mean(c[COUNT_PEER_STALL_NS], c[COUNT_PEER_STALLS]), ascii, t.b),
        time_text(c[COUNT_PEER_STALL_NS], ascii, t.c));
}

static void cured(struct prose *p, const struct reader_row *row, bool ascii) {
    struct texts t;
    const struct reader_tally *y = &row->tally;
    prose_add(p, "Cured: up to %s %s %s would have stalled, about 40 ms each",
              some_text(y->counter[COUNT_STALLS_CURED], "message", t.a), with(&row->id),
              row_words(&row->id, t.endpoint));
    if (y->counter[COUNT_EXCHANGES] && stats_mode_cures(row->id.mode)) /* else most may be of before */
        prose_add(p, "; the median exchange takes %s",
                  time_text(reader_quantile(y->exchange, HISTOGRAM_STEPS, 0.5), ascii, t.b));
    prose_add(p, ".");
    if (seen_first(row) && proved_stalls(y))
        prose_add(p,
                  " Before, %s stalled, %s: what waits behind an earlier message is cured once that was "
                  "seen.",
                  count_text(proved_stalls(y), t.c), time_text(lost_ns(y), ascii, t.d));
}

static void suspected(struct verdict *is, const struct reader_row *row) {
    struct texts t;
    uint64_t n = row->tally.counter[COUNT_STALLS_SUSPECTED];
    verdict_because(is, "%s %s %s look%s, but pacing, a loss or MPTCP may be the cause",
                    some_text(n, "message", t.a), with(&row->id), row_words(&row->id, t.endpoint),
                    n == 1 ? "s like a stall" : " like stalls");
}

/* Of bytes that the library did not see written. */
static void unseen(struct verdict *is, const struct reader_row *row) {
    static const char *const how = "(by stdio, io_uring or raw system calls); a capture can show stalls here "
                                   "(unstall explain)";
    struct texts t;
    const uint64_t *c = row->tally.counter;
    row_words(&row->id, t.endpoint);
    if (c[COUNT_UNSEEN_BYTES])
        verdict_because(is,
                        "writes bypass the library: %s %s, %s more %s sent than it saw written %s",
                        with(&row->id), t.endpoint, some_text(c[COUNT_UNSEEN_BYTES], "byte", t.a),
                        c[COUNT_UNSEEN_BYTES] == 1 ? "was" : "were", how);
    else
        verdict_because(is, "writes bypass the library on %s connection%s %s %s %s",
                        count_text(c[COUNT_UNTRACKED], t.a), c[COUNT_UNTRACKED] == 1 ? "" : "s",
                        with(&row->id), t.endpoint, how);
}

static void no_stall(struct prose *p, const struct verdict *is, const struct reader_row *row, bool ascii) {
    struct texts t;
    char where[ENDPOINT_ROOM + NAME_ROOM];
    const struct reader_tally *y = &row->tally;
    snprintf(where, sizeof(where), " %s %s", with(&row->id), row_words(&row->id, t.endpoint));
    verdict_words(p, is, where);
    if (y->counter[COUNT_EXCHANGES])
        prose_add(p, "; median %s, p99 %s.",
                  time_text(reader_quantile(y->exchange, HISTOGRAM_STEPS, 0.5), ascii, t.b),
                  time_text(reader_quantile(y->exchange, HISTOGRAM_STEPS, 0.99), ascii, t.c));
    else
        prose_add(p, ", in %s and %s.", some_text(y->counter[COUNT_WRITES], "write", t.a),
                  some_text(y->counter[COUNT_READS], "read", t.b));
}

/* ---- not the network -------------------------------------------------- */

/* Sums over the processes whose start is a fair share of their time: from the load to the first connect,
 * from the load to the first write, and the wait for answers. */
struct report_start {
    uint64_t connected_ns, written_ns, waited_ns;
    size_t processes;
};

/* A relay may connect only when a client has. */
static bool has_accepted_before(const struct reader_file *r, uint64_t ns) {
    for (size_t i = 0; i < r->connection_count; i++) {
        const struct reader_row *row = reader_row_at(r, r->connections[i].row);
        if (row && row->id.role == ROLE_LISTENER && r->connections[i].opened_ns < ns)
            return true;
    }
    return false;
}

/* Adds the start of one process, taken from its first connection.  A start much shorter than the time spent
 * waiting for answers does not count. */
static void add_start(struct report_start *start, const struct reader_file *r) {
    const struct stats_connection *first = NULL;
    uint64_t waited = 0, loaded = r->header.loaded_monotonic_ns;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct reader_row *row = &r->rows[i];
        if (row->id.role != ROLE_DESTINATION)
            continue;
        waited += row->tally.counter[COUNT_EXCHANGE_NS];
        for (size_t k = 0; k < r->connection_count; k++) {
            const struct stats_connection *c = &r->connections[k];
            if (c->row == row->index && c->first_write_us != UINT32_MAX &&
                (!first || c->opened_ns < first->opened_ns))
                first = c;
        }
    }
    if (!first || !loaded || first->opened_ns < loaded || has_accepted_before(r, first->opened_ns))
        return;
    uint64_t connected = first->opened_ns - loaded;
    uint64_t written = connected + first->first_write_us * UINT64_C(1000);
    if (written < waited / 4)
        return;
    start->waited_ns += waited;
    start->connected_ns += connected;
    start->written_ns += written;
    start->processes++;
}

/* When the programs first connected and first wrote. */
static struct report_start start_of(const struct stats_files *s) {
    struct report_start start = {0};
    for (size_t i = 0; i < s->count; i++)
        add_start(&start, s->list[i]);
    return start;
}

static uint64_t first_write_weight(const struct reader_tally *t) {
    uint64_t each = mean(t->counter[COUNT_FIRST_WRITE_NS], t->counter[COUNT_FIRST_WRITES]);
    return each >= SLOW_NS ? t->counter[COUNT_FIRST_WRITE_NS] : 0;
}

/* The application's own time until its answers.  The peers' stalls are no part of it, nor the time that it
 * may have `waited` for answers itself, as a relay does. */
static uint64_t answer_weight(const struct reader_tally *t, uint64_t waited) {
    uint64_t own = t->counter[COUNT_ANSWER_NS], others = t->counter[COUNT_PEER_STALL_NS] + waited;
    own -= own < others ? own : others;
    return mean(own, t->counter[COUNT_ANSWERS]) >= SLOW_NS ? own : 0;
}

/* The time before the first write is the application's own only on connections that it made: on an accepted
 * one, it waits for the request.  The time until an answer is its own only on accepted ones. */
static bool application(struct prose *p, const struct reader_row *rows, size_t count, bool ascii) {
    struct texts t;
    const struct reader_row *first = NULL, *answer = NULL;
    uint64_t waited = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].id.role == ROLE_DESTINATION)
            waited += rows[i].tally.counter[COUNT_EXCHANGE_NS];
    for (size_t i = 0; i < count; i++) {
        const struct reader_row *row = &rows[i];
        if (row->id.role == ROLE_DESTINATION && first_write_weight(&row->tally) &&
            (!first || first_write_weight(&row->tally) > first_write_weight(&first->tally)))
            first = row;
        if (row->id.role == ROLE_LISTENER && answer_weight(&row->tally, waited) &&
            (!answer || answer_weight(&row->tally, waited) > answer_weight(&answer->tally, waited)))
            answer = row;
    }
    if (first) {
        const uint64_t *c = first->tally.counter;
        prose_add(p, "Not the network: %s in the application before its first write to %s",
                  time_text(mean(c[COUNT_FIRST_WRITE_NS], c[COUNT_FIRST_WRITES]), ascii, t.a),
                  row_words(&first->id, t.endpoint));
        if (c[COUNT_FIRST_WRITES] > 1)
            prose_add(p, " (the mean of %s connections)", count_text(c[COUNT_FIRST_WRITES], t.b));
    }
    if (answer)
        prose_add(p, "%s %s in the application from a request at %s to its answer",
                  first ? ", and" : "Not the network:",
                  time_text(mean(answer_weight(&answer->tally, waited),
                                 answer->tally.counter[COUNT_ANSWERS]),
                            ascii, t.a),
                  row_words(&answer->id, t.endpoint));
    if (first || answer)
        prose_add(p, ".");
    return first || answer;
}

/* The time before the first write.  A longer one than START_MOST_NS is no slow start: the program waited
 * for its user. */
static bool slow_start(struct prose *p, const struct report_start *start, bool ascii) {
    struct texts t;
    uint64_t written = mean(start->written_ns, start->processes);
    if (written < START_LEAST_NS || written > START_MOST_NS)
        return false;
    prose_add(p, "Not the network: %s in the application before its first write, %s of it before ",
              time_text(written, ascii, t.a),
              time_text(mean(start->connected_ns, start->processes), ascii, t.b));
    prose_add(p, "it connected");
    if (start->processes > 1)
        prose_add(p, " (the mean of %s processes)", count_text(start->processes, t.c));
    prose_add(p, ".");
    return true;
}

/* A slow answer without a stall. */
static bool slow_answer(struct prose *p, const struct reader_row *row, bool ascii) {
    struct texts t;
    uint64_t median = reader_quantile(row->tally.exchange, HISTOGRAM_STEPS, 0.5);
    if (row->id.role != ROLE_DESTINATION || median < SLOW_NS)
        return false;
    prose_add(
        p,
        "The answers of %s take %s (median) by themselves: look at the peer or at the path to it.",
        row_words(&row->id, t.endpoint), time_text(median, ascii, t.a));
    return true;
}

/* ---- all ------------------------------------------------------------- */

static void saved(struct report_verdict *v, const struct reader_row *rows, size_t count, bool ascii) {
    struct texts t;
    uint64_t ns = sum(rows, count, COUNT_QUICKACK_SAVED_NS);
    if (ns)
        prose_add(next_note(v), "UNSTALL_QUICKACK has saved about %s of the peers' stalls.",
                  time_text(ns, ascii, t.a));
}

static bool looked(const struct reader_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rows[i].tally.counter[COUNT_BURSTS] && rows[i].id.mode != STATS_MODE_OFF)
            return true;
    return sum(rows, count, COUNT_BURSTS) == 0 || sum(rows, count, COUNT_SUSPECTS) > 0;
}

static struct prose *say(struct report_verdict *v, enum found found, const struct reader_row *row) {
    if (v->row)
        return next_note(v);
    v->found = found;
    v->row = row;
    return &v->sentence;
}

/* Says why nothing can be told of this row; that makes the verdict where no other row has one. */
static void doubt(struct report_verdict *v, enum found found, const struct reader_row *row,
                  const struct verdict *is) {
    if (!v->row)
        v->is = *is;
    struct prose *p = say(v, found, row);
    verdict_words(p, is, "");
    prose_add(p, ".");
}

static void tell_cured(struct report_verdict *v, const struct reader_row *rows, size_t count,
                       const struct reader_row *row, bool ascii) {
    cured(say(v, FOUND_CURED, row), row, ascii);
    all_cured(v, rows, count, row);
}

static void find_stalls(struct report_verdict *v, const struct stats_files *files,
                        const struct reader_row *rows, size_t count, bool ascii) {
    const struct reader_row *row = heaviest_stalls(files, rows, count, &v->past);
    const struct reader_row *cure = heaviest(rows, count, cured_weight);
    if (v->past && cure)
        tell_cured(v, rows, count, cure, ascii);
    if (row) {
        stalls(say(v, FOUND_STALLS, row), files, row, ascii);
        v->behind = v->found == FOUND_STALLS && mostly_behind(row);
        also_behind(v, row);
        all_stalls(v, rows, count, ascii);
    }
    if ((row = heaviest_peer(files, rows, count)) != NULL)
        peer(say(v, FOUND_PEER_STALLS, row), row, ascii);
    if (!v->past && cure)
        tell_cured(v, rows, count, cure, ascii);
    if (!v->row)
        return;
    const uint64_t *c = v->row->tally.counter;
    v->is = seen_in(v->row);
    if (v->found == FOUND_STALLS)
        v->is.stalls = proved_stalls(&v->row->tally);
    else if (v->found == FOUND_PEER_STALLS)
        v->is.stalls = c[COUNT_PEER_STALLS];
    else
        v->is.least = 1; /* each message that was cured is one that would have stalled */
    if (v->found == FOUND_CURED && verdict_exchanges(&v->is) < c[COUNT_STALLS_CURED])
        v->is.exchanges = v->is.firsts + c[COUNT_STALLS_CURED];
}

static void find_doubts(struct report_verdict *v, const struct reader_row *rows, size_t count) {
    const struct reader_row *row;
    if ((row = heaviest(rows, count, suspected_weight)) != NULL) {
        struct verdict is = seen_in(row);
        suspected(&is, row);
        doubt(v, FOUND_SUSPECTED, row, &is);
    }
    if ((row = heaviest(rows, count, unseen_weight)) != NULL) {
        struct verdict is = seen_in(row);
        unseen(&is, row);
        doubt(v, FOUND_UNSEEN, row, &is);
    }
}

/* Neither a stall nor a doubt. */
static void find_none(struct report_verdict *v, const struct reader_row *use, bool is_own, bool ascii) {
    struct prose slow = {.used = 0};
    v->is = seen_in(use);
    no_stall(say(v, is_own ? FOUND_APPLICATION : FOUND_NO_STALL, use), &v->is, use, ascii);
    if (!is_own && slow_answer(&slow, use, ascii))
        *next_note(v) = slow;
}

/* The program has ended, and no process has left statistics. */
static void none_seen(struct verdict *is) {
    verdict_because(is,
                    "no TCP connection of the program, or of one that it started, was seen. Out of sight are "
                    "static programs, those of Go, those started without LD_PRELOAD, and those that have "
                    "changed their user (start these as that user); unstall scan, while they run, sees all");
}

void report_verdict_find(struct report_verdict *v, const struct stats_files *files,
                         const struct reader_row *rows, size_t count, bool ascii) {
    struct report_start start = start_of(files);
    struct prose own = {.used = 0};
    char name[PROGRAMS_ROOM], watched[NAME_ROOM];
    memset(v, 0, sizeof(*v));
    const struct reader_row *use = heaviest(rows, count, use_weight);
    if (!files->count) {
        none_seen(&v->is);
        doubt(v, FOUND_NOTHING, NULL, &v->is);
        return;
    }
    if (!use) {
        programs_text(files, NULL, name);
        verdict_because(&v->is, "no TCP connection of %s has carried bytes%s%s%s", name,
                        files->watched_ns ? " in the time watched, " : "",
                        files->watched_ns ? time_text(files->watched_ns, ascii, watched) : "",
                        files->count == 1 ? "; processes that it starts have statistics of their own, and a "
                                            "report on the folder adds them up"
                                          : "");
        doubt(v, FOUND_NOTHING, NULL, &v->is);
        return;
    }
    find_stalls(v, files, rows, count, ascii);
    find_doubts(v, rows, count);
    saved(v, rows, count, ascii);
    bool is_own = application(&own, rows, count, ascii);
    bool is_start = !is_own && slow_start(&own, &start, ascii);
    is_own |= is_start && start.written_ns >= start.waited_ns &&
              start.written_ns / start.processes >= SLOW_NS;
    if (!v->row && !looked(rows, count)) {
        struct verdict is = seen_in(use);
        verdict_because(&is, "in mode off stalls are not looked for; see unstall observe");
        doubt(v, FOUND_NOT_LOOKED, use, &is);
    } else if (!v->row) {
        find_none(v, use, is_own, ascii);
    }
    if (is_own || is_start)
        *next_note(v) = own;
}
