/* SPDX-License-Identifier: MIT */
#include "explain.h"

struct ladder explain_ladder(const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    struct ladder l = {.writer = e->from, .peer = e->to};
    int64_t second = e->at_ns[1] - e->at_ns[0], third = e->at_ns[2] - e->at_ns[0];
    ladder_add(&l, LADDER_DATA, 0, e->bytes[0]);
    if (f->source == SOURCE_CAPTURE) {
        ladder_add(&l, LADDER_HELD, 0, e->bytes[1]);
        ladder_add(&l, LADDER_ACK, second, 0);
        ladder_add(&l, LADDER_DATA, third, e->bytes[1]);
    } else {
        l.writer = r->writer;
        ladder_add(&l, LADDER_HELD, second, e->bytes[1]);
        ladder_add(&l, LADDER_ANSWER, third, 0);
    }
    return l;
}

struct ladder explain_ladder_cured(const struct findings *f, const struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    struct ladder l = {.writer = f->source == SOURCE_CAPTURE ? e->from : r->writer,
                       .peer = e->to,
                       .predicted = true};
    ladder_add(&l, LADDER_DATA, 0, (uint64_t)e->bytes[0] + e->bytes[1]);
    return l;
}
