/* SPDX-License-Identifier: MIT
 *
 * The judgement on a connection of a capture, packet by packet.  Pure: facts and times in, counters out.
 *
 * A stall is, in this order: a small segment; silence of its sender; a late, bare acknowledgement of
 * everything sent; and new data at once.  These look similar and are none:
 *   - new data that does not come at once: the application was slow itself (counted as `near`);
 *   - small data while small data is not acknowledged: Nagle's algorithm is off (`overlaps`);
 *   - retransmissions; data for which the peer's window had no room;
 *   - an acknowledgement that carries data, or is late by no more than the round trip;
 *   - one late acknowledgement among many prompt ones: the machine was busy (`prompt`).
 * A single packet proves nothing: stall_judge() weighs all packets of one direction.
 */
#ifndef UNSTALL_CLI_STALL_H
#define UNSTALL_CLI_STALL_H

#include "flow.h"
#include "late.h"

/* The range of a delayed acknowledgement in a capture. */
enum { LATE_LEAST_NS = LATE_IN_CAPTURE_MS * MS, LATE_MOST_NS = LATE_LONGEST_MS * MS };

/* The next packet of a connection.  from: index of the sending end. */
void stall_feed(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                int64_t now);

/* True for a SYN that begins another connection on the same ports. */
bool stall_is_new_connection(const struct flow *f, int from, const struct tcp_segment *s);

enum stall_verdict {
    STALL_NONE,
    STALL_FOUND,
    STALL_ONE_WAY, /* found, but in a stream that is never answered */
    STALL_CHANCE,  /* the application's own rhythm, or a busy machine, looks like stalls */
    STALL_VERDICTS,
};

/* The verdict on all packets of one direction. */
enum stall_verdict stall_judge(const struct flow *f, int sender);

/* Adds the waits of a sender that stalls.  Where nearly every rest comes right after the acknowledgement, a
 * rest that comes a few milliseconds later (`near`) counts too: the machine was busy. */
void stall_waits(const struct flow *f, int sender, struct waits *into);

#endif
