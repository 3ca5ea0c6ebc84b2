/* SPDX-License-Identifier: MIT
 *
 * The call sites in a report: who wrote the first piece of a message, who the second.
 */
#include "sites.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "prose.h"
#include "symbols.h"
#include "terminal.h"

enum { SITES_SHOWN = 4, PROCESSES_SHOWN = 3 };

/* The two writes of one occurrence, named. */
struct site {
    struct trace trace[2];
    uint64_t bytes[2]; /* 0: not known */
    char program[64];
};

static const struct segment_occurrence *occurrence_of(const struct segment_pattern *p) {
    for (unsigned i = 0; i < SEGMENT_OCCURRENCES; i++)
        if (p->occurrence[i].state == SEGMENT_VALID)
            return &p->occurrence[i];
    return NULL;
}

/* The trace must come by the return address that the library has noted: where it does
 * not, a module has changed since, its way of keeping frames is not known, and what
 * follows is chance. */
static bool passes(const struct trace *t, uint64_t caller) {
    for (unsigned i = 0; i < t->count; i++)
        if (t->frame[i].pc + 1 == caller)
            return true;
    return false;
}

static void name_site(struct symbols *s, const struct reader_segment *r,
                      const struct segment_pattern *p, const struct segment_occurrence *o,
                      struct site *site) {
    memset(site, 0, sizeof(*site));
    base_text(r->header.program, site->program, sizeof(site->program));
    for (unsigned k = 0; k < 2; k++) {
        if (o) {
            symbols_trace(s, &o->write[k], &site->trace[k]);
            site->bytes[k] = o->write[k].bytes;
        }
        if (!passes(&site->trace[k], p->caller[k]))
            symbols_caller(s, p->caller[k], &site->trace[k]);
    }
}

/* Who is to be named: where both writes come through the same wrapper, the frames
 * in which they differ tell more than the wrapper.  -1: there is none at all, or they do
 * not differ anywhere. */
static int author_of(const struct site *site) {
    const struct trace *a = &site->trace[0], *b = &site->trace[1];
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (a->frame[i].pc != b->frame[i].pc)
            return (int)i;
    return -1;
}

/* ---- for people ------------------------------------------------------ */

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
    if (f->source[0])
        prose_add(p, " (%s:%d)", f->source, f->line);
    if (f->function[0])
        prose_add(p, " in %s", f->module);
    if (f->file == FILE_CHANGED)
        prose_add(p, " (the file has changed since)");
    else if (f->file == FILE_MISSING)
        prose_add(p, " (the file is not there any more)");
}

/* The first frame of the program itself, where the author is a library's. */
static const struct frame *caller_in_program(const struct trace *t, unsigned author) {
    if (t->frame[author].kind != FRAME_LIBRARY)
        return NULL;
    for (unsigned i = author + 1; i < t->count; i++)
        if (t->frame[i].kind == FRAME_PROGRAM)
            return &t->frame[i];
    return NULL;
}

/* Nameless code is known by its neighbours: what it calls, and what calls it. */
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
    if (author >= t->count) {
        prose_add(p, "code that cannot be named");
        return;
    }
    const struct frame *f = &t->frame[author];
    add_frame(p, f, site->program);
    if (f->kind != FRAME_PROGRAM && f->kind != FRAME_LIBRARY)
        return;
    const char *through = name_near(t, author, true);
    if (through)
        prose_add(p, ", through %s", through);
    const struct frame *program = caller_in_program(t, author);
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

/* The stacks do not differ. */
static void add_same(struct prose *p, const struct site *site) {
    char text[NAME_ROOM];
    bool script = site->trace[0].frame[0].kind == FRAME_INTERPRETER;
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

static void add_site(struct prose *p, const struct segment_pattern *pattern,
                     const struct site *site, bool ascii) {
    char text[NAME_ROOM];
    prose_add(p, "- %s messages", count_text(pattern->count, text));
    if (pattern->stalls) {
        prose_add(p, ", %s stalls", count_text(pattern->stalls, text));
        prose_add(p, ", %s lost", time_text(pattern->stall_ns, ascii, text));
    }
    int author = author_of(site);
    const struct trace *a = &site->trace[0], *b = &site->trace[1];
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
    const struct segment_pattern *x = *(const struct segment_pattern *const *)a;
    const struct segment_pattern *y = *(const struct segment_pattern *const *)b;
    if (x->stall_ns != y->stall_ns)
        return x->stall_ns > y->stall_ns ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void segment_sites(FILE *out, const struct reader_segment *r, unsigned width, bool ascii,
                          bool say_who) {
    const struct segment_pattern *sorted[SEGMENT_PATTERNS];
    struct symbols *s = symbols_begin(r);
    struct site *site = malloc(sizeof(*site));
    char name[64];
    for (size_t i = 0; i < r->pattern_count; i++)
        sorted[i] = &r->patterns[i];
    qsort(sorted, r->pattern_count, sizeof(struct segment_pattern *), by_stalls);
    if (say_who)
        fprintf(out, "  %s (pid %u):\n", base_text(r->header.program, name, sizeof(name)),
                r->header.pid);
    for (size_t i = 0; s && site && i < r->pattern_count && i < SITES_SHOWN; i++) {
        struct prose p = {.used = 0};
        name_site(s, r, sorted[i], occurrence_of(sorted[i]), site);
        add_site(&p, sorted[i], site, ascii);
        prose_print(out, &p, 2, width);
    }
    free(site);
    symbols_end(s);
}

static uint64_t lost_by(const struct reader_segment *r) {
    uint64_t ns = 0;
    for (size_t i = 0; i < r->pattern_count; i++)
        ns += r->patterns[i].stall_ns;
    return ns;
}

/* The one that has lost most of those that have call sites and were not shown. */
static const struct reader_segment *worst(const struct segments *s,
                                          const struct reader_segment *const *shown, size_t count) {
    const struct reader_segment *best = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct reader_segment *r = s->list[i];
        bool is_shown = false;
        for (size_t k = 0; k < count; k++)
            is_shown |= shown[k] == r;
        if (r->pattern_count && !is_shown && (!best || lost_by(r) > lost_by(best)))
            best = r;
    }
    return best;
}

void sites_text(FILE *out, const struct segments *s, unsigned width) {
    const struct reader_segment *shown[PROCESSES_SHOWN], *next;
    size_t count = 0;
    bool ascii = !speaks_utf8();
    while (count < PROCESSES_SHOWN && (next = worst(s, shown, count)) != NULL) {
        if (!count)
            fprintf(out, "\n%sWho wrote the pieces%s\n", colour(out, BOLD), colour(out, PLAIN));
        shown[count++] = next;
        segment_sites(out, next, width, ascii, s->count > 1);
    }
}

/* ---- for programs ---------------------------------------------------- */

static void hexadecimal(struct json *j, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_string(j, key, text);
}

static void json_frame(struct json *j, const char *key, const struct frame *f) {
    static const char *const files[] = {
        [FILE_SAME] = "same", [FILE_CHANGED] = "changed", [FILE_MISSING] = "missing"};
    bool known = f->kind != FRAME_NO_MODULE;
    json_object(j, key);
    hexadecimal(j, "pc", f->pc);
    json_string(j, "kind", frame_kind_name(f->kind));
    json_string(j, "function", f->function[0] ? f->function : NULL);
    json_string(j, "source", f->source[0] ? f->source : NULL);
    if (f->line)
        json_signed(j, "line", f->line);
    else
        json_null(j, "line");
    json_string(j, "module", known ? f->module : NULL);
    if (known)
        hexadecimal(j, "offset", f->offset);
    else
        json_null(j, "offset");
    json_string(j, "file", known ? files[f->file] : NULL);
    json_object_end(j);
}

static void json_write(struct json *j, const struct segment_write *w, const struct trace *t,
                       unsigned author) {
    json_object(j, NULL);
    if (w) {
        json_unsigned(j, "bytes", w->bytes);
        json_unsigned(j, "when_ns", w->when_ns);
        json_unsigned(j, "thread", w->thread);
        json_unsigned(j, "fd", w->fd);
    }
    if (author < t->count)
        json_frame(j, "author", &t->frame[author]);
    else
        json_null(j, "author");
    json_array(j, "frames");
    for (unsigned i = 0; i < t->count; i++)
        json_frame(j, NULL, &t->frame[i]);
    json_array_end(j);
    json_object_end(j);
}

static void json_occurrence(struct json *j, struct symbols *s, const struct reader_segment *r,
                            const struct segment_pattern *p, const struct segment_occurrence *o,
                            struct site *site) {
    name_site(s, r, p, o, site);
    int author = author_of(site);
    json_array(j, NULL);
    for (unsigned k = 0; k < 2; k++)
        json_write(j, o ? &o->write[k] : NULL, &site->trace[k], author < 0 ? 0 : (unsigned)author);
    json_array_end(j);
}

static void json_pattern(struct json *j, struct symbols *s, const struct reader_segment *r,
                         const struct segment_pattern *p, struct site *site) {
    json_object(j, NULL);
    json_unsigned(j, "row", p->row);
    json_unsigned(j, "count", p->count);
    json_unsigned(j, "stalls", p->stalls);
    json_unsigned(j, "stall_ns", p->stall_ns);
    json_array(j, "callers");
    hexadecimal(j, NULL, p->caller[0]);
    hexadecimal(j, NULL, p->caller[1]);
    json_array_end(j);
    json_array(j, "occurrences");
    for (unsigned i = 0; i < SEGMENT_OCCURRENCES; i++)
        if (p->occurrence[i].state == SEGMENT_VALID)
            json_occurrence(j, s, r, p, &p->occurrence[i], site);
    if (!occurrence_of(p))
        json_occurrence(j, s, r, p, NULL, site);
    json_array_end(j);
    json_object_end(j);
}

void sites_json(struct json *j, const struct reader_segment *r) {
    struct symbols *s = r->pattern_count ? symbols_begin(r) : NULL;
    struct site *site = malloc(sizeof(*site));
    json_array(j, "patterns");
    for (size_t i = 0; s && site && i < r->pattern_count; i++)
        json_pattern(j, s, r, &r->patterns[i], site);
    json_array_end(j);
    free(site);
    symbols_end(s);
}
