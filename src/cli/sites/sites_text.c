/* SPDX-License-Identifier: MIT */
#include "sites_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "prose.h"
#include "terminal.h"

enum { SITES_SHOWN = 4, PROCESSES_SHOWN = 3 };

static void add_frame(struct prose *p, const struct frame *f, const char *program) {
    if (f->kind == FRAME_NO_MODULE) {
        prose_add(p, "JIT or interpreter code (at 0x%" PRIx64 ")", f->pc);
        return;
    }
    if (f->kind == FRAME_INTERPRETER) {
        prose_add(p, "what %s interprets", is_interpreter(program) ? program : f->module);
        return;
    }
    if (f->function[0])
        prose_add(p, "%s", f->function);
    else
        prose_add(p, "code at %s+0x%" PRIx64, f->module, f->offset);
    if (f->source[0] && f->line)
        prose_add(p, " (%s:%d)", f->source, f->line);
    else if (f->source[0])
        prose_add(p, " (%s)", f->source);
    if (f->kind == FRAME_SCRIPT)
        return;
    if (f->function[0])
        prose_add(p, " in %s", f->module);
    if (f->file == FILE_CHANGED)
        prose_add(p, " (the file has changed since)");
    else if (f->file == FILE_MISSING)
        prose_add(p, " (the file no longer exists)");
}

/* The nearest name inward (a callee) or outward (a caller): it describes code without a name. */
static const char *name_near(const struct trace *t, unsigned author, bool inward) {
    for (unsigned i = 1; i < t->count; i++) {
        if (inward ? i > author : author + i >= t->count)
            return NULL;
        const struct frame *f = &t->frame[inward ? author - i : author + i];
        if (f->function[0])
            return f->function;
    }
    return NULL;
}

static void add_author(struct prose *p, const struct site *site, unsigned which, unsigned author) {
    const struct trace *t = &site->trace[which];
    author = site_frame(site, which, author);
    if (author >= t->count) {
        prose_add(p, "code without a name");
        return;
    }
    const struct frame *f = &t->frame[author];
    add_frame(p, f, site->program);
    if (f->kind != FRAME_PROGRAM && f->kind != FRAME_LIBRARY && f->kind != FRAME_SCRIPT)
        return;
    const char *through = f->kind == FRAME_SCRIPT ? NULL : name_near(t, author, true);
    if (through)
        prose_add(p, ", through %s", through);
    const struct frame *program = site_program(t, author);
    const char *under = f->function[0] ? NULL : name_near(t, author, false);
    if (program && program->function[0]) {
        prose_add(p, ", called from ");
        add_frame(p, program, site->program);
    } else if (under) {
        prose_add(p, ", under %s", under);
    }
}

static void add_bytes(struct prose *p, uint64_t bytes) {
    char text[NAME_ROOM];
    if (bytes)
        prose_add(p, " (%s bytes)", count_text(bytes, text));
}

/* The second write began a message, and was held behind the first. */
static void add_behind(struct prose *p, const struct site *site, unsigned at) {
    struct prose held = {.used = 0}, before = {.used = 0};
    add_author(&held, site, 1, at);
    add_author(&before, site, 0, at);
    bool same = strcmp(held.text, before.text) == 0;
    prose_add(p, ": the held message");
    add_bytes(p, site->bytes[1]);
    if (!same)
        prose_add(p, " is written by %s; the one before", held.text);
    else
        prose_add(p, " and the one before");
    add_bytes(p, site->bytes[0]);
    prose_add(p, ", not acknowledged yet, %s %s: set TCP_NODELAY there.", same ? "are written by" : "by",
              before.text);
}

/* Both writes come from one call site. */
static void add_same(struct prose *p, const struct site *site) {
    char text[NAME_ROOM];
    enum frame_kind kind = site->trace[0].frame[site_frame(site, 0, 0)].kind;
    bool script = kind == FRAME_INTERPRETER || kind == FRAME_SCRIPT;
    prose_add(p, ": both pieces");
    if (site->bytes[0])
        prose_add(p, " (%s", count_text(site->bytes[0], text));
    if (site->bytes[0])
        prose_add(p, " and %s bytes)", count_text(site->bytes[1], text));
    prose_add(p, script ? " are written by " : " are written by one call in a loop, ");
    add_author(p, site, 0, 0);
    prose_add(p, script ? ": look there for two writes in a row, and join them."
                        : ": collect them there, and write once.");
}

void site_sentence(struct prose *p, const struct stats_pattern *pattern, const struct site *site,
                   bool ascii) {
    char text[NAME_ROOM];
    prose_add(p, "%s message%s", count_text(pattern->count, text), pattern->count == 1 ? "" : "s");
    if (pattern->stalls) {
        prose_add(p, ", %s stall%s", count_text(pattern->stalls, text), pattern->stalls == 1 ? "" : "s");
        prose_add(p, ", %s lost", time_text(pattern->stall_ns, ascii, text));
    }
    int author = site_author(site);
    const struct trace *a = &site->trace[0], *b = &site->trace[1];
    if (pattern->behind) {
        add_behind(p, site, author < 0 ? 0 : (unsigned)author);
        return;
    }
    if (author < 0 && a->count && a->count == b->count) {
        add_same(p, site);
        return;
    }
    unsigned at = author < 0 ? 0 : (unsigned)author;
    prose_add(p, ": the first piece");
    add_bytes(p, site->bytes[0]);
    prose_add(p, " is written by ");
    add_author(p, site, 0, at);
    prose_add(p, "; the second");
    add_bytes(p, site->bytes[1]);
    prose_add(p, " by ");
    add_author(p, site, 1, at);
    prose_add(p, ": join them.");
}

static int by_stalls(const void *a, const void *b) {
    const struct stats_pattern *x = *(const struct stats_pattern *const *)a;
    const struct stats_pattern *y = *(const struct stats_pattern *const *)b;
    if (x->stall_ns != y->stall_ns)
        return x->stall_ns > y->stall_ns ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x < y ? -1 : x > y;
}

bool site_is_unnamed(const struct site *site) {
    int author = site_author(site);
    unsigned at = site_frame(site, 0, author < 0 ? 0 : (unsigned)author);
    const struct frame *f = &site->trace[0].frame[at];
    return at < site->trace[0].count && (f->kind == FRAME_INTERPRETER || f->kind == FRAME_NO_MODULE);
}

static bool stats_sites(FILE *out, const struct reader_file *r, const struct stats_row *endpoint,
                        unsigned width, bool say_who) {
    const struct stats_pattern *sorted[STATS_PATTERNS];
    size_t count = 0;
    struct symbols *s = symbols_begin(r);
    struct site *site = malloc(sizeof(*site));
    bool unnamed = false;
    char name[64];
    for (size_t i = 0; i < r->pattern_count; i++)
        if (site_is_at(r, &r->patterns[i], endpoint))
            sorted[count++] = &r->patterns[i];
    qsort(sorted, count, sizeof(struct stats_pattern *), by_stalls);
    if (say_who)
        fprintf(out, "  %s (pid %u):\n", base_text(r->header.program, name, sizeof(name)),
                r->header.pid);
    for (size_t i = 0; s && site && i < count && i < SITES_SHOWN; i++) {
        struct prose p = {.used = 0};
        site_name(s, r, sorted[i], site_occurrence(sorted[i]), site);
        unnamed |= site_is_unnamed(site);
        prose_add(&p, "- ");
        site_sentence(&p, sorted[i], site, !speaks_utf8());
        prose_print(out, &p, 2, width);
    }
    free(site);
    symbols_end(s);
    return unnamed;
}

static unsigned patterns_at(const struct reader_file *r, const struct stats_row *endpoint, uint64_t *lost) {
    unsigned count = 0;
    *lost = 0;
    for (size_t i = 0; i < r->pattern_count; i++)
        if (site_is_at(r, &r->patterns[i], endpoint)) {
            *lost += r->patterns[i].stall_ns;
            count++;
        }
    return count;
}

/* The process with call sites that lost most and was not shown yet, or NULL. */
static const struct reader_file *worst(const struct stats_files *s, const struct stats_row *endpoint,
                                       const struct reader_file *const *shown, size_t count) {
    const struct reader_file *best = NULL;
    uint64_t most = 0, lost;
    for (size_t i = 0; i < s->count; i++) {
        const struct reader_file *r = s->list[i];
        bool is_shown = false;
        for (size_t k = 0; k < count; k++)
            is_shown |= shown[k] == r;
        if (patterns_at(r, endpoint, &lost) && !is_shown && (!best || lost > most)) {
            best = r;
            most = lost;
        }
    }
    return best;
}

bool sites_text(FILE *out, const struct stats_files *s, const struct stats_row *endpoint, unsigned width) {
    bool unnamed = false;
    const struct reader_file *shown[PROCESSES_SHOWN], *next;
    size_t count = 0;
    bool elsewhere = endpoint && !worst(s, endpoint, NULL, 0);
    if (elsewhere)
        endpoint = NULL;
    while (count < PROCESSES_SHOWN && (next = worst(s, endpoint, shown, count)) != NULL) {
        if (!count)
            fprintf(out, "\n%sWho wrote the pieces%s%s\n", colour(out, BOLD),
                    elsewhere ? ", here or at other endpoints" : "", colour(out, PLAIN));
        shown[count++] = next;
        unnamed |= stats_sites(out, next, endpoint, width, s->count > 1);
    }
    return unnamed;
}
