/* SPDX-License-Identifier: MIT
 *
 * What a look has found, in words and as JSON.
 */
#include "who.h"

#include <string.h>

#include "format.h"

static bool is_same(const struct who_frame *a, const struct who_frame *b) {
    return a->line == b->line && strcmp(a->function, b->function) == 0 && strcmp(a->source, b->source) == 0;
}

/* The innermost frame in which both writes differ; 0 if they come from one place. */
static unsigned author_of(const struct who *w) {
    const struct who_write *a = &w->write[0], *b = &w->write[1];
    for (unsigned i = 0; i < a->count && i < b->count; i++)
        if (!is_same(&a->frame[i], &b->frame[i]))
            return i;
    return 0;
}

static void add_frame(struct prose *p, const struct who_frame *f) {
    prose_add(p, "%s", f->function);
    if (f->source[0] && f->line)
        prose_add(p, " (%s:%d)", f->source, f->line);
    else if (f->source[0])
        prose_add(p, " (%s)", f->source);
}

static void add_write(struct prose *p, const struct who_write *w, unsigned author, const char *written) {
    char text[NAME_ROOM];
    prose_add(p, " (%s bytes) %s ", count_text(w->bytes, text), written);
    if (author >= w->count) {
        prose_add(p, "code without a name");
        return;
    }
    add_frame(p, &w->frame[author]);
    for (unsigned i = author + 1; w->frame[author].of_runtime && i < w->count; i++)
        if (!w->frame[i].of_runtime) {
            prose_add(p, ", called from ");
            add_frame(p, &w->frame[i]);
            break;
        }
}

/* The note; a look that was ended while it waited for a tool has set none, so it gets one here. */
static const char *who_note(const struct who *w) {
    return w->note[0] ? w->note : "The look has ended before both writes of a message were known";
}

void who_prose(struct prose *p, const struct who *w) {
    unsigned author = author_of(w);
    if (!w->known) {
        prose_add(p, "%s.", who_note(w));
    } else {
        bool behind = w->behind; /* the second write, which is held, is told first then */
        prose_add(p, "As %s tells, the %s", w->tool, behind ? "held message" : "first piece");
        add_write(p, &w->write[behind], author, "is written by");
        prose_add(p, "; the %s", behind ? "one before" : "second");
        add_write(p, &w->write[!behind], author, "by");
        prose_add(p, ": %s.", behind ? "set TCP_NODELAY there" : "join them");
    }
    if (w->questions)
        prose_add(p, " The times above include the pauses of its %u question%s.", w->questions,
                  w->questions == 1 ? "" : "s");
}

static void json_write(struct json *j, const struct who_write *w, unsigned author) {
    json_object(j, NULL);
    json_unsigned(j, "bytes", w->bytes);
    json_unsigned(j, "author", author);
    json_array(j, "frames");
    for (unsigned i = 0; i < w->count; i++) {
        json_object(j, NULL);
        json_string(j, "function", w->frame[i].function);
        json_string(j, "source", w->frame[i].source[0] ? w->frame[i].source : NULL);
        json_unsigned_if(j, "line", (uint64_t)w->frame[i].line, w->frame[i].line > 0);
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
        json_write(j, &w->write[k], author_of(w));
    json_array_end(j);
    json_object_end(j);
}
