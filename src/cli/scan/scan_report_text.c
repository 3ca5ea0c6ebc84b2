/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "array.h"
#include "closing.h"
#include "format.h"
#include "grid.h"
#include "sites.h"
#include "stats_names.h"
#include "survey.h"
#include "terminal.h"

enum { WIDTH_MOST = 110, WIDTH_LEAST = 40, ROWS_SHOWN = 20 };

/* "nginx (812)", or the user where the process is not to be known. */
static const char *process_text(const struct scan_process *p, uint32_t uid, char *text, size_t size) {
    char name[SCAN_PROGRAM];
    if (p->pid)
        snprintf(text, size, "%.48s (%d)", safe_text(p->program, name, sizeof(name)), (int)p->pid);
    else
        snprintf(text, size, "a process of user %" PRIu32, uid);
    return text;
}

static const char *stalls_text(const struct scan_estimate *e, enum scan_kind kind, bool ascii,
                               char text[NAME_ROOM]) {
    if (kind == SCAN_EXACT)
        snprintf(text, NAME_ROOM, "%.0f", e->count);
    else
        snprintf(text, NAME_ROOM, "%.0f (%.0f%s%.0f)", e->count, floor(e->low), ascii ? "-" : "–",
                 ceil(e->high));
    return text;
}

static const char *receiver_text(const struct scan_row *r, char *text, size_t size) {
    if (r->peer.pid)
        return process_text(&r->peer, 0, text, size);
    return r->peer_local ? "several, or not to be known" : "elsewhere";
}

void scan_report_head(struct prose *p, const struct survey *s, bool ascii) {
    const struct scan_result *r = &s->result;
    char text[NAME_ROOM];
    prose_add(p, "Scanned %s for %s, source %s: ", s->scope,
              time_text(r->ended_ns - r->began_ns, ascii, text), scan_kind_name(r->kind));
    if (r->kind == SCAN_EXACT)
        prose_add(p, r->lost ? "not every stall was seen;" : "every stall was seen;");
    else
        prose_add(p, "numbers are estimates, intervals in parentheses;");
    if (r->sockets)
        prose_add(p, " %s sockets;", count_text(r->sockets, text));
    prose_add(p, " the scan used %.1f %% of a core.", 100 * r->share);
    if (r->kind == SCAN_SAMPLED && r->dumps)
        prose_add(p,
                  " All sockets were looked at every %s: a connection that stalls for a small part "
                  "of its time only may be missing.",
                  time_text(r->dump_every_ns, ascii, text));
    if (s->not_exact[0])
        prose_add(p, " Not exact: %s.", s->not_exact);
    if (r->lost)
        prose_add(p, " %s event%s not seen: there may be more stalls than these.",
                  count_text(r->lost, text), r->lost == 1 ? " was" : "s were");
    if (r->unwatched)
        prose_add(p, " %s socket%s that held data %s not watched: there may be more stalls than these.",
                  count_text(r->unwatched, text), r->unwatched == 1 ? "" : "s",
                  r->unwatched == 1 ? "was" : "were");
}

static void stalls(struct prose *p, const struct survey *s, bool ascii) {
    const struct scan_estimate *all = &s->table.all;
    const struct scan_row *worst = &s->table.rows[0];
    uint64_t n = s->verdict.stalls;
    char number[NAME_ROOM], each[NAME_ROOM], lost[NAME_ROOM], whole[NAME_ROOM];
    char who[ENDPOINT_ROOM + NAME_ROOM], address[ENDPOINT_ROOM];
    prose_add(p, "%s%s stall%s of %s cost %s in %s", s->result.kind == SCAN_EXACT ? "" : "About ",
              count_text(n, number), n == 1 ? "" : "s",
              time_text((uint64_t)(all->lost_ns / all->count), ascii, each),
              time_text((uint64_t)all->lost_ns, ascii, lost),
              time_text(s->result.ended_ns - s->result.began_ns, ascii, whole));
    if (s->table.count - s->table.one_way == 1)
        prose_add(p, ", all of it");
    else if (worst->stalls.lost_ns > all->lost_ns / 2)
        prose_add(p, ", most of it");
    else
        prose_add(p, ", %s of it by", time_text((uint64_t)worst->stalls.lost_ns, ascii, lost));
    prose_add(p, " %s %s %s",
              process_text(&worst->process, worst->uid, who, sizeof(who)), worst->listens ? "at" : "to",
              address_text(&worst->endpoint, address));
}

void scan_sentence(struct prose *p, const struct survey *s, bool ascii) {
    if (s->verdict.stalls)
        stalls(p, s, ascii);
    bool few = verdict_of(&s->verdict) == VERDICT_TOO_FEW && s->verdict.exchanges;
    verdict_words(p, &s->verdict, few ? "" : " on connections that lasted");
    prose_add(p, ".");
}

const char *scan_note(const struct survey *s) {
    if (s->filter.pid && !s->verdict.stalls && !s->verdict.exchanges)
        return "Connections of its workers, if it has some, are not its own: --port or --unit looks at all.";
    return s->verdict.stalls
               ? NULL
               : "A stall is seen at its sender only: where the sender is elsewhere, scan there.";
}

static void head(FILE *out, const struct survey *s, unsigned width, bool ascii) {
    struct prose p = {.used = 0};
    scan_report_head(&p, s, ascii);
    prose_print(out, &p, 0, width);
    fputc('\n', out);
    p.used = 0;
    scan_sentence(&p, s, ascii);
    fputs(colour(out, BOLD), out);
    prose_print(out, &p, 0, width);
    fputs(colour(out, PLAIN), out);
    if (scan_note(s))
        print_wrapped(out, scan_note(s), 0, 0, width);
}

int scan_head_lines(const struct survey *s, FILE *terminal) {
    FREED char *text = NULL;
    size_t size = 0;
    int lines = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return lines;
    head(out, s, terminal_width_within(terminal, WIDTH_LEAST, WIDTH_MOST), !speaks_utf8());
    if (fclose(out) == 0)
        for (size_t i = 0; i < size; i++)
            lines += text[i] == '\n';
    return lines;
}

static const struct grid_column columns[] = {
    {"sender", 24, true, 0},    {"endpoint", 26, true, 0}, {"stalls", 18, false, 0},
    {"a second", 10, false, 2}, {"lost", 10, false, 0},    {"each", 10, false, 1},
    {" receiver", 30, true, 3}, {"unit or container", 30, true, 4},
};

static bool has_group(const struct scan_row *r) {
    return r->process.unit[0] || r->process.container[0];
}

/* The unit or the container of the sender. */
static const char *group_text(const struct scan_row *r, char *text, size_t size) {
    char name[SCAN_PROGRAM];
    if (r->process.container[0])
        snprintf(text, size, "container %s", r->process.container);
    else
        snprintf(text, size, "%s", has_group(r) ? safe_text(r->process.unit, name, sizeof(name)) : "-");
    return text;
}

static void row(FILE *out, const struct grid *g, const struct scan_row *r, const struct scan_result *result,
                bool ascii) {
    enum { TEXT = ENDPOINT_ROOM + NAME_ROOM };
    char sender[TEXT], endpoint[TEXT], address[ENDPOINT_ROOM], number[3][NAME_ROOM], a_second[NAME_ROOM];
    char receiver[TEXT + NAME_ROOM], peer[TEXT], group[SCAN_PROGRAM + NAME_ROOM];
    double seconds = (double)(result->ended_ns - result->began_ns) / 1e9;
    const struct scan_estimate *e = &r->stalls;
    snprintf(endpoint, sizeof(endpoint), "%s %s", r->listens ? "at" : "to",
             address_text(&r->endpoint, address));
    snprintf(receiver, sizeof(receiver), " %s", receiver_text(r, peer, sizeof(peer)));
    snprintf(a_second, sizeof(a_second), "%.1f", e->count / seconds);
    grid_line(out, g,
              (const char *[]){
                  process_text(&r->process, r->uid, sender, sizeof(sender)), endpoint,
                  stalls_text(e, result->kind, ascii, number[0]), a_second,
                  time_text((uint64_t)e->lost_ns, ascii, number[1]),
                  time_text((uint64_t)(e->lost_ns / e->count), ascii, number[2]),
                  receiver,
                  group_text(r, group, sizeof(group)),
              });
}

/* The columns for these rows: the last one only where one of them has a unit or container. */
static size_t columns_for(const struct scan_table *t, bool one_way) {
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].one_way == one_way && has_group(&t->rows[i]))
            return ARRAY_SIZE(columns);
    return ARRAY_SIZE(columns) - 1;
}

/* A pipe gets all columns. */
static void table(FILE *out, const struct survey *s, bool one_way, bool ascii) {
    const struct scan_table *t = &s->table;
    const struct grid g = grid_fit(columns, columns_for(t, one_way),
                                   isatty(fileno(out)) ? (unsigned)terminal_width(out) : UINT_MAX);
    size_t shown = 0, more = 0, most = s->rows_shown ? s->rows_shown : ROWS_SHOWN;
    grid_heading(out, &g);
    for (size_t i = 0; i < t->count; i++) {
        if (t->rows[i].one_way != one_way)
            continue;
        if (shown < most)
            row(out, &g, &t->rows[i], &s->result, ascii);
        else
            more++;
        shown++;
    }
    if (more)
        fprintf(out, "... and %zu more (--json lists all)\n", more);
}

/* The name of a program is gone with it, also where nobody has asked yet how it ended. */
static bool has_ended(pid_t pid) {
    char path[64], byte;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return readlink(path, &byte, 1) < 0 && errno == ENOENT;
}

/* The process of the heaviest row that has one; NULL: none, or root would see a heavier one. */
static const struct scan_process *named_sender(const struct scan_table *t) {
    for (size_t i = 0; i < t->count; i++) {
        const struct scan_process *s = &t->rows[i].process;
        if (s->pid || geteuid() != 0)
            return s->pid ? s : NULL;
    }
    return NULL;
}

bool scan_next(struct prose *p, const struct scan_table *t) {
    const struct scan_process *s = named_sender(t);
    if (!s)
        return false;
    if (has_ended(s->pid)) {
        prose_add(p, "unstall observe --");
        prose_add_word(p, s->program[0] ? s->program : "PROGRAM");
        prose_add(p, " ...");
    } else {
        prose_add(p, "unstall doctor %d", (int)s->pid);
    }
    return true;
}

static void next(FILE *out, const struct scan_table *t, bool can_attach) {
    const struct scan_process *s = named_sender(t);
    struct prose p = {.used = 0}, command = {.used = 0};
    if (scan_next(&command, t))
        prose_add(&p, "Next: %s", command.text);
    else if (geteuid() != 0)
        prose_add(&p, "Next: the same as root, which may see the processes of all users");
    else
        prose_add(&p, "Next: the same once more, or on the host if this is a container: a process that has "
                      "ended, or is outside, has no name");
    fputc('\n', out);
    prose_print(out, &p, 0, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
    p.used = 0;
    if (can_attach && s && !has_ended(s->pid))
        prose_add(&p, "or cure it as it runs: unstall attach %d", (int)s->pid);
    if (p.used)
        prose_print(out, &p, 0, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
}

void scan_report_text(FILE *out, const struct survey *s) {
    const struct scan_table *t = &s->table;
    bool ascii = !speaks_utf8();
    size_t stalling = t->count - t->one_way;
    head(out, s, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST), ascii);
    if (stalling) {
        fputc('\n', out);
        table(out, s, false, ascii);
    }
    if (t->one_way && !(s->rows_shown && stalling)) { /* a screen is for the stalls */
        fputs("\nStreams of small writes without an answer, which Nagle's algorithm buffers on "
              "purpose:\n\n",
              out);
        table(out, s, true, ascii);
    }
    if (s->places)
        sites_text(out, s->places, NULL, terminal_width_within(out, WIDTH_LEAST, WIDTH_MOST));
    if (stalling)
        next(out, t, s->result.kind == SCAN_EXACT && geteuid() == 0);
}
