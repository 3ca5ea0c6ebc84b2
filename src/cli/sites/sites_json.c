/* SPDX-License-Identifier: MIT */
#include "sites_parts.h"

#include <inttypes.h>
#include <stdlib.h>

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
    struct site *site = malloc(sizeof(*site));
    bool unnamed = false;
    json_array(j, "patterns");
    for (size_t i = 0; s && site && i < r->pattern_count; i++)
        unnamed |= json_pattern(j, s, r, &r->patterns[i], site);
    json_array_end(j);
    free(site);
    symbols_end(s);
    return unnamed;
}
