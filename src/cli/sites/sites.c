/* SPDX-License-Identifier: MIT */
#include "sites.h"

#include <inttypes.h>
#include <string.h>

#include "closing.h"
#include "format.h"
#include "stats_files.h"
#include "terminal.h"

enum { SITES_SHOWN = 4, PROCESSES_SHOWN = 3 };

/* The first occurrence whose stacks were kept, or NULL. */
static const struct stats_occurrence *site_occurrence(const struct stats_pattern *p) {
    for (unsigned i = 0; i < STATS_OCCURRENCES; i++)
        if (p->occurrence[i].state == STATS_VALID)
            return &p->occurrence[i];
    return NULL;
}

/* True if the trace contains the return address that the library has noted.  Otherwise a module's file has
 * changed since: its unwind tables do not fit, and the frames are wrong. */
static bool passes(const struct trace *t, uint64_t caller) {
    for (unsigned i = 0; i < t->count; i++)
        if (t->frame[i].pc + 1 == caller)
            return true;
    return false;
}

/* Names both writes of an occurrence.  NULL: by the return addresses of the pattern alone. */
static void site_name(struct symbols *s, const struct reader_file *r, const struct stats_pattern *p,
               const struct stats_occurrence *o, struct site *site) {
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

/* A runtime compiles one function several times, so that its code has several addresses. */
static bool is_same_code(const struct frame *a, const struct frame *b) {
    if (a->kind == FRAME_SCRIPT && b->kind == FRAME_SCRIPT)
        return a->line == b->line && strcmp(a->function, b->function) == 0 &&
               strcmp(a->source, b->source) == 0;
    return a->pc == b->pc;
}

int site_author(const struct site *site) {
    const struct trace *a = &site->trace[0], *b = &site->trace[1];
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (!is_same_code(&a->frame[i], &b->frame[i]))
            return (int)i;
    return -1;
}

/* The index of the frame to show for write `which`, if the traces differ in frame `author`.  It is that
 * frame; if that belongs to an interpreter, the next frame of a script outward.  The count of the trace:
 * there is none. */
static unsigned site_frame(const struct site *site, unsigned which, unsigned author) {
    const struct trace *t = &site->trace[which];
    unsigned at = author;
    while (at < t->count && (t->frame[at].kind == FRAME_INTERPRETER || t->frame[at].kind == FRAME_NO_MODULE))
        at++;
    return at < t->count && t->frame[at].kind == FRAME_SCRIPT ? at : author;
}

/* If frame `author` is in a runtime's module or a library: the innermost frame of the program itself, or
 * NULL. */
static const struct frame *site_program(const struct trace *t, unsigned author) {
    const struct frame *f = &t->frame[author];
    if (f->kind != FRAME_LIBRARY && !f->of_runtime)
        return NULL;
    for (unsigned i = author + 1; i < t->count; i++)
        if (t->frame[i].kind == FRAME_PROGRAM ||
            (t->frame[i].kind == FRAME_SCRIPT && !t->frame[i].of_runtime))
            return &t->frame[i];
    return NULL;
}

/* True if the pattern was first seen at the endpoint; NULL: at any. */
static bool site_is_at(const struct reader_file *r, const struct stats_pattern *p,
                const struct stats_row *endpoint) {
    const struct reader_row *row = endpoint ? reader_row_at(r, p->row) : NULL;
    return !endpoint || (row && row->id.role == endpoint->role &&
                         memcmp(&row->id.endpoint, &endpoint->endpoint, sizeof(endpoint->endpoint)) == 0);
}

void sites_pieces(const struct stats_files *s, const struct stats_row *endpoint, uint64_t bytes[2]) {
    uint64_t most = 0;
    bytes[0] = bytes[1] = 0;
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < s->list[i]->pattern_count; k++) {
            const struct stats_pattern *p = &s->list[i]->patterns[k];
            const struct stats_occurrence *o = site_occurrence(p);
            if (!o || p->stall_ns < most || !site_is_at(s->list[i], p, endpoint))
                continue;
            most = p->stall_ns;
            bytes[0] = o->write[0].bytes;
            bytes[1] = o->write[1].bytes;
        }
}

/* ---- its sentence ---------------------------------------------------- */

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

void site_add_author(struct prose *p, const struct site *site, unsigned which, unsigned author) {
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
        prose_add(p, " (%s)", some_text(bytes, "byte", text));
}

/* The second write began a message, and was held behind the first. */
static void add_behind(struct prose *p, const struct site *site, unsigned at) {
    struct prose held = {.used = 0}, before = {.used = 0};
    site_add_author(&held, site, 1, at);
    site_add_author(&before, site, 0, at);
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
        prose_add(p, " and %s)", some_text(site->bytes[1], "byte", text));
    prose_add(p, script ? " are written by " : " are written by one call in a loop, ");
    site_add_author(p, site, 0, 0);
    prose_add(p, script ? ": look there for two writes in a row, and join them."
                        : ": collect them there, and write once.");
}

/* "36 messages, 36 stalls, 1.20 s lost: the first piece is written by …; the second by …: join them." */
static void site_sentence(struct prose *p, const struct stats_pattern *pattern, const struct site *site,
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
    site_add_author(p, site, 0, at);
    prose_add(p, "; the second");
    add_bytes(p, site->bytes[1]);
    prose_add(p, " by ");
    site_add_author(p, site, 1, at);
    prose_add(p, ": join them.");
}

/* True if a script has written it, and its function is not known. */
static bool site_is_unnamed(const struct site *site) {
    int author = site_author(site);
    unsigned at = site_frame(site, 0, author < 0 ? 0 : (unsigned)author);
    const struct frame *f = &site->trace[0].frame[at];
    return at < site->trace[0].count && (f->kind == FRAME_INTERPRETER || f->kind == FRAME_NO_MODULE);
}

/* ---- for people ------------------------------------------------------ */

static int by_stalls(const void *a, const void *b) {
    const struct stats_pattern *x = *(const struct stats_pattern *const *)a;
    const struct stats_pattern *y = *(const struct stats_pattern *const *)b;
    if (x->stall_ns != y->stall_ns)
        return x->stall_ns > y->stall_ns ? -1 : 1;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool stats_sites(FILE *out, const struct reader_file *r, const struct stats_row *endpoint,
                        unsigned width, bool say_who) {
    const struct stats_pattern *sorted[STATS_PATTERNS];
    size_t count = 0;
    struct symbols *s = symbols_begin(r);
    FREED struct site *site = malloc(sizeof(*site));
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

/* ---- for programs ---------------------------------------------------- */

static void hexadecimal(struct json *j, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    json_string(j, key, text);
}

static void json_frame(struct json *j, const char *key, const struct frame *f) {
    static const char *const files[] = {
        [FILE_SAME] = "same", [FILE_CHANGED] = "changed", [FILE_MISSING] = "missing"};
    bool known = f->kind != FRAME_NO_MODULE && f->kind != FRAME_SCRIPT;
    json_object(j, key);
    hexadecimal(j, "pc", f->pc);
    json_string(j, "kind", frame_kind_name(f->kind));
    json_string(j, "function", f->function[0] ? f->function : NULL);
    json_string(j, "source", f->source[0] ? f->source : NULL);
    json_unsigned_if(j, "line", (uint64_t)f->line, f->line > 0);
    json_string(j, "module", known ? f->module : NULL);
    if (known)
        hexadecimal(j, "offset", f->offset);
    else
        json_null(j, "offset");
    json_string(j, "file", known ? files[f->file] : NULL);
    json_object_end(j);
}

static void json_write(struct json *j, const struct stats_write *w, const struct trace *t,
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

static void json_occurrence(struct json *j, struct symbols *s, const struct reader_file *r,
                            const struct stats_pattern *p, const struct stats_occurrence *o,
                            struct site *site) {
    site_name(s, r, p, o, site);
    int author = site_author(site);
    json_array(j, NULL);
    for (unsigned k = 0; k < 2; k++)
        json_write(j, o ? &o->write[k] : NULL, &site->trace[k],
                   site_frame(site, k, author < 0 ? 0 : (unsigned)author));
    json_array_end(j);
}

/* True if a script has written, and its function is not known. */
static bool json_pattern(struct json *j, struct symbols *s, const struct reader_file *r,
                         const struct stats_pattern *p, struct site *site) {
    struct prose said = {.used = 0};
    site_name(s, r, p, site_occurrence(p), site);
    site_sentence(&said, p, site, false);
    bool unnamed = site_is_unnamed(site);
    json_object(j, NULL);
    json_unsigned(j, "row", p->row);
    json_bool(j, "behind", p->behind);
    json_unsigned(j, "count", p->count);
    json_unsigned(j, "stalls", p->stalls);
    json_unsigned(j, "stall_ns", p->stall_ns);
    json_string(j, "sentence", said.text);
    json_array(j, "callers");
    hexadecimal(j, NULL, p->caller[0]);
    hexadecimal(j, NULL, p->caller[1]);
    json_array_end(j);
    json_array(j, "occurrences");
    for (unsigned i = 0; i < STATS_OCCURRENCES; i++)
        if (p->occurrence[i].state == STATS_VALID)
            json_occurrence(j, s, r, p, &p->occurrence[i], site);
    if (!site_occurrence(p))
        json_occurrence(j, s, r, p, NULL, site);
    json_array_end(j);
    json_object_end(j);
    return unnamed;
}

bool sites_json(struct json *j, const struct reader_file *r) {
    struct symbols *s = r->pattern_count ? symbols_begin(r) : NULL;
    FREED struct site *site = malloc(sizeof(*site));
    bool unnamed = false;
    json_array(j, "patterns");
    for (size_t i = 0; s && site && i < r->pattern_count; i++)
        unnamed |= json_pattern(j, s, r, &r->patterns[i], site);
    json_array_end(j);
    symbols_end(s);
    return unnamed;
}
