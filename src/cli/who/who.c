/* SPDX-License-Identifier: MIT
 *
 * What a look has found, in words and as JSON.
 */
#include "who.h"

#include "format.h"

static unsigned author_of(const struct who *w) {
    int author = site_author(&w->site);
    return author < 0 ? 0 : (unsigned)author;
}

static void add_write(struct prose *p, const struct who *w, unsigned which, const char *written) {
    char text[NAME_ROOM];
    prose_add(p, " (%s) %s ", some_text(w->site.bytes[which], "byte", text), written);
    site_add_author(p, &w->site, which, author_of(w));
}

/* The note; a look that was ended while it waited for a tool has set none, so it gets one here. */
static const char *who_note(const struct who *w) {
    return w->note[0] ? w->note : "The look has ended before both writes of a message were known";
}

void who_prose(struct prose *p, const struct who *w) {
    if (!w->known) {
        prose_add(p, "%s.", who_note(w));
    } else {
        bool behind = w->behind; /* the second write, which is held, is told first then */
        prose_add(p, "As %s tells, the %s", w->tool, behind ? "held message" : "first piece");
        add_write(p, w, behind, "is written by");
        prose_add(p, "; the %s", behind ? "one before" : "second");
        add_write(p, w, !behind, "by");
        prose_add(p, ": %s.", behind ? "set TCP_NODELAY there" : "join them");
    }
    if (w->questions)
        prose_add(p, " The times above include the pauses of its %u question%s.", w->questions,
                  w->questions == 1 ? "" : "s");
}

static void json_write(struct json *j, const struct who *w, unsigned which) {
    const struct trace *t = &w->site.trace[which];
    json_object(j, NULL);
    json_unsigned(j, "bytes", w->site.bytes[which]);
    json_unsigned(j, "author", author_of(w));
    json_array(j, "frames");
    for (const struct frame *f = t->frame; f < t->frame + t->count; f++) {
        json_object(j, NULL);
        json_string(j, "function", f->function);
        json_string(j, "source", f->source[0] ? f->source : NULL);
        json_unsigned_if(j, "line", (uint64_t)f->line, f->line > 0);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

void who_json(struct json *j, const struct who *w) {
    if (!w) {
        json_null(j, "runtime");
        return;
    }
    json_object(j, "runtime");
    json_string(j, "tool", w->known ? w->tool : NULL);
    json_string(j, "note", w->known ? NULL : who_note(w));
    json_bool(j, "behind", w->behind);
    json_array(j, "writes");
    for (unsigned k = 0; w->known && k < 2; k++)
        json_write(j, w, k);
    json_array_end(j);
    json_object_end(j);
}
