/* SPDX-License-Identifier: MIT */
#include "explain.h"

/* The peer's data, `after_ns` behind what it waits for.  Data that comes later than the stall was long would
 * make the stall a small part of the picture, and shows the peer's own time: it is left out. */
static void add_reply(struct ladder *l, const struct finding *r, int64_t at_ns, int64_t after_ns) {
    const struct finding_example *e = &r->examples[0];
    if (after_ns >= 0 && after_ns <= e->at_ns[2] - e->at_ns[0])
        ladder_add(l, r->by_server ? LADDER_NEXT : LADDER_ANSWER, at_ns, 0);
}

struct ladder explain_ladder(const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    struct ladder l = {.writer = e->from, .peer = e->to};
    int64_t second = e->at_ns[1] - e->at_ns[0], third = e->at_ns[2] - e->at_ns[0];
    ladder_add(&l, LADDER_DATA, 0, e->bytes[0]);
    if (f->source == SOURCE_CAPTURE) {
        ladder_add(&l, LADDER_HELD, 0, e->bytes[1]);
        ladder_add(&l, LADDER_ACK, second, 0);
        ladder_add(&l, LADDER_DATA, third, e->bytes[1]);
        if (e->answer_at_ns)
            add_reply(&l, r, e->answer_at_ns - e->at_ns[0], e->answer_at_ns - e->at_ns[2]);
    } else {
        l.writer = r->writer;
        ladder_add(&l, LADDER_HELD, second, e->bytes[1]);
        add_reply(&l, r, third, 0);
    }
    return l;
}

struct ladder explain_ladder_cured(const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    const struct unheld *m = &r->unheld;
    bool capture = f->source == SOURCE_CAPTURE;
    struct ladder l = {.writer = capture ? e->from : r->writer, .peer = e->to};
    if (!m->pieces) {
        l.predicted = true;
        int64_t quick = e->answer_at_ns - e->at_ns[2]; /* the peer is as quick as it was */
        ladder_add(&l, LADDER_DATA, 0, (uint64_t)e->bytes[0] + e->bytes[1]);
        if (capture && e->answer_at_ns)
            add_reply(&l, r, quick, quick);
        return l;
    }
    if (capture) {
        l.writer = r->unheld_from;
        l.peer = r->unheld_to;
    }
    for (unsigned i = 0; i < m->pieces; i++)
        ladder_add(&l, LADDER_DATA, m->at_ns[i] - m->at_ns[0], m->bytes[i]);
    add_reply(&l, r, m->at_ns[2] - m->at_ns[0], m->at_ns[2] - m->at_ns[m->pieces - 1]);
    return l;
}

const char *explain_ladder_caption(const struct findings *f, const struct finding *r, char text[NOTE_TEXT]) {
    const char *unit = f->source == SOURCE_CAPTURE ? "packet" : "line";
    const struct unheld *m = &r->unheld;
    if (m->pieces == 1)
        snprintf(text, NOTE_TEXT,
                 "As recorded, not held: %s %lu of the file has a message of about that size.",
                 unit, (unsigned long)m->number[0]);
    else if (m->pieces)
        snprintf(text, NOTE_TEXT,
                 "As recorded, not held: %ss %lu and %lu of the file have a message of about that size.",
                 unit, (unsigned long)m->number[0], (unsigned long)m->number[1]);
    else
        snprintf(text, NOTE_TEXT, "Predicted, with unstall: the pieces leave as one segment, at once.");
    return text;
}
