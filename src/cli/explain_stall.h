/* SPDX-License-Identifier: MIT
 *
 * The judgement on a connection of a capture, packet by packet.  Pure: facts and
 * times in, counters out.
 *
 * A stall is: a small segment; silence of that sender; a bare acknowledgement of all it has
 * sent, late; and at once new data.  What could look the same and is none:
 *   - new data that does not come at once: the application was slow itself (counted as `near`);
 *   - small data while small data is on its way: Nagle's algorithm is off (`overlaps`);
 *   - data sent again, before or after; data that the peer's window had no room for;
 *   - an acknowledgement that carries data, or is late by no more than the round trip;
 *   - one late acknowledgement among many that came at once: a machine that was busy (`prompt`).
 * A single packet proves nothing: flow_verdict() weighs all that was seen of a connection.
 */
#ifndef UNSTALL_CLI_EXPLAIN_STALL_H
#define UNSTALL_CLI_EXPLAIN_STALL_H

#include "explain_flow.h"

#define MS INT64_C(1000000) /* ns */

/* How late an acknowledgement is that was delayed.  Linux takes HZ / 25 ticks, the first one not whole: 30 to
 * 40 ms with HZ=100, 36 to 48 with HZ=250; others 50, 100 or 200.  RFC 1122, 4.2.3.2, allows 500. Below: less
 * a millisecond for the way. Above: a tick of the slowest clock more. */
enum { LATE_LEAST_NS = 29 * MS, LATE_MOST_NS = 525 * MS };

/* The next packet of a connection.  from: index of the sending end. */
void stall_feed(struct flow *f, int from, const struct segment *s, uint64_t number, int64_t now);

/* Is this SYN the beginning of another connection on the same ports? */
bool stall_is_new_connection(const struct flow *f, int from, const struct segment *s);

enum verdict {
    VERDICT_NONE,
    VERDICT_STALLS,
    VERDICT_ONE_WAY, /* stalls, but of a stream that nobody answers */
    VERDICT_CHANCE,  /* what looked like it is the application's own rhythm */
};

/* What all packets of this direction say together. */
enum verdict stall_verdict(const struct flow *f, int sender);

/* Adds the waits of a sender that stalls.  Where nearly every rest keeps to the acknowledgement, one that is a
 * few milliseconds behind is the same on a busy machine. */
void stall_waits(const struct flow *f, int sender, struct waits *into);

#endif
