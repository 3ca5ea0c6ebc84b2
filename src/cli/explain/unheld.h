/* SPDX-License-Identifier: MIT
 *
 * Messages of a recording that were not held back: one or two pieces, the second right after the first.
 * A report shows such a message beside a stall of the same writer, service and size, as the exchange without
 * the stall.  Pure.
 */
#ifndef UNSTALL_CLI_UNHELD_H
#define UNSTALL_CLI_UNHELD_H

#include <stdbool.h>

#include "waits.h"

/* Pieces that are this far apart, or farther, make no such message. */
enum { UNHELD_APART_NS = 5 * MS };

/* The value of `pieces` for a message of another kind. */
enum { UNHELD_NOT = 3 };

struct unheld {
    uint8_t pieces;     /* 1 or 2; 0: there is no message; UNHELD_NOT: it is none of this kind */
    uint64_t number[3]; /* packets or lines: the pieces, and at [2] the answer */
    int64_t at_ns[3];
    uint32_t bytes[2];
};

/* The next piece of a message that is being sent. */
void unheld_piece(struct unheld *m, uint64_t number, int64_t at_ns, uint32_t bytes);

/* The peer's answer has come.  False: the message has more than two pieces, or they are apart. */
bool unheld_answered(struct unheld *m, uint64_t number, int64_t at_ns);

/* Keeps `m` in place of the older message in `kept`.  `wanted` is the size of a stalled message, 0 if none is
 * known: a kept message of about that size is not replaced by one of another size. */
void unheld_keep(struct unheld *kept, const struct unheld *m, uint64_t wanted);

uint64_t unheld_bytes(const struct unheld *m);

/* Sizes are in classes, four to a power of two.  Sizes at most so many classes apart count as equal. */
enum { UNHELD_SIZES_APART = 2 };
uint8_t unheld_size(uint64_t bytes);

/* True if the message has about so many bytes: a quarter more or less. */
bool unheld_is_about(const struct unheld *m, uint64_t bytes);

#endif
