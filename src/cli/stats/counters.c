/* SPDX-License-Identifier: MIT */
#include "counters.h"

#define COUNTER_NAME(constant, name, what) [COUNT_##constant] = #name,
const char *const counter_names[STATS_COUNTERS] = {STATS_COUNTERS_OF(COUNTER_NAME)};
#undef COUNTER_NAME

bool is_used(const struct reader_row *row) {
    const uint64_t *c = row->tally.counter;
    return c[COUNT_CONNECTIONS] || c[COUNT_WRITES] || c[COUNT_READS] || c[COUNT_EXCHANGES];
}

bool is_looked_at(const struct reader_row *row) {
    return row->id.mode != STATS_MODE_OFF || row->tally.counter[COUNT_SUSPECTS] || proved_stalls(&row->tally);
}

uint64_t lost_ns(const struct reader_tally *t) {
    return t->counter[COUNT_STALL_NS] + t->counter[COUNT_STALL_BOUND_NS];
}

uint64_t proved_stalls(const struct reader_tally *t) {
    return t->counter[COUNT_STALLS_PROVED] + t->counter[COUNT_STALLS_BOUND];
}
