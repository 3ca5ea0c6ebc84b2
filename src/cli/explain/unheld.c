/* SPDX-License-Identifier: MIT */
#include "unheld.h"

void unheld_piece(struct unheld *m, uint64_t number, int64_t at_ns, uint32_t bytes) {
    if (m->pieces < 2) {
        m->number[m->pieces] = number;
        m->at_ns[m->pieces] = at_ns;
        m->bytes[m->pieces] = bytes;
    }
    if (m->pieces < UNHELD_NOT)
        m->pieces++;
}

bool unheld_answered(struct unheld *m, uint64_t number, int64_t at_ns) {
    m->number[2] = number;
    m->at_ns[2] = at_ns;
    return m->pieces == 1 || (m->pieces == 2 && m->at_ns[1] >= m->at_ns[0] &&
                              m->at_ns[1] - m->at_ns[0] < UNHELD_APART_NS);
}

uint64_t unheld_bytes(const struct unheld *m) {
    return (uint64_t)m->bytes[0] + (m->pieces == 2 ? m->bytes[1] : 0);
}

uint8_t unheld_size(uint64_t bytes) {
    uint64_t power = 0;
    while (bytes >> power > 7)
        power++;
    return (uint8_t)(power * 4 + (bytes >> power));
}

bool unheld_is_about(const struct unheld *m, uint64_t bytes) {
    uint64_t own = unheld_bytes(m), apart = own > bytes ? own - bytes : bytes - own;
    return m->pieces && apart <= bytes / 4;
}

void unheld_keep(struct unheld *kept, const struct unheld *m, uint64_t wanted) {
    if (!wanted || !unheld_is_about(kept, wanted) || unheld_is_about(m, wanted))
        *kept = *m;
}
