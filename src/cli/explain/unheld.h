/* SPDX-License-Identifier: MIT
 *
 * Messages of a recording that were not held back: one or two pieces, the second right behind the first.
 * Beside a stall of the same writer, service and size such a message is the exchange as it runs cured.  Pure.
 */
#ifndef UNSTALL_CLI_UNHELD_H
#define UNSTALL_CLI_UNHELD_H

#include <stdbool.h>
#include <stdint.h>

#include "waits.h"

/* The pieces of such a message are nearer to one another. */
enum { UNHELD_APART_NS = 5 * MS };

/* More pieces than such a message has. */
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

/* Keeps a message in place of an older one.  `wanted`: the bytes of a stalled message, 0 while none is known:
 * a message of about that size is not given up for one of another. */
void unheld_keep(struct unheld *kept, const struct unheld *m, uint64_t wanted);

uint64_t unheld_bytes(const struct unheld *m);

/* The class of a size, four to a power of two.  Sizes that are about the same are at most so many classes
 * apart. */
enum { UNHELD_SIZES_APART = 2 };
uint8_t unheld_size(uint64_t bytes);

/* True if the message has about so many bytes: a quarter more or less. */
bool unheld_is_about(const struct unheld *m, uint64_t bytes);

#endif
