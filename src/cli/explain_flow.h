/* SPDX-License-Identifier: MIT
 *
 * The connections of a capture, in constant memory: a table of fixed size, of which the
 * connection that was silent for longest is given up when a new one needs room.
 *
 * Ownership: the table owns its flows; flows_free() and giving one up hand each flow
 * that had a packet to `done` first.  One thread, no globals.
 */
#ifndef UNSTALL_CLI_EXPLAIN_FLOW_H
#define UNSTALL_CLI_EXPLAIN_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "explain_packet.h"
#include "explain_waits.h"

enum { EXAMPLES = 3 };

/* One stall, to be looked up in the capture. */
struct example {
    struct endpoint writer, peer;
    uint64_t number[3]; /* of the packets: beginning, bare acknowledgement, rest */
    int64_t at_ns[3];
    uint32_t bytes[2]; /* of the beginning, of the rest's first segment */
};

/* Sums for means, variances and a covariance, in microseconds. */
struct pairs {
    double x, y, xx, yy, xy;
};

/* What speaks for stalls of one sender, and against.  Made when first needed. */
struct evidence {
    struct waits near; /* the rest came after the late acknowledgement, too late to be its effect */
    struct pairs late_gap; /* x: beginning to acknowledgement, y: acknowledgement to rest */
    struct waits waits;
    struct example examples[EXAMPLES];
};

/* What is on its way from one end. */
enum outstanding {
    NOTHING_SMALL, /* nothing, or nothing that Nagle's algorithm would wait for */
    SMALL_SENT,    /* the last segment was small, and all before it has arrived */
    LATE_ACK,      /* after a delay, a bare acknowledgement of all came */
};

/* One direction of a connection, named after the end that sends. */
struct sender {
    bool begun;      /* next is known */
    bool heard;      /* the peer has acknowledged something: acked is known */
    bool small_out;  /* a small segment ends at small_end and is not acknowledged */
    bool recovering; /* has sent again; until recovered_at is acknowledged */
    bool stamped;    /* timestamps take 12 bytes of each segment */
    bool reached_known, syn_seen;
    bool owing;           /* has not acknowledged the peer's newest data */
    bool round_trip;      /* LATE_ACK: late by a round trip only */
    int8_t scale;         /* of the windows that this end announces; -1: its SYN was not seen */
    uint8_t state;        /* enum outstanding */
    uint16_t mss;         /* that the peer announced; 0: not seen */
    uint16_t path_mss;    /* smaller, learnt from segments of equal size in a row; 0: not */
    uint32_t largest;     /* segment seen, of those not gathered by a card */
    uint32_t isn;         /* of the newest SYN */
    uint32_t next, acked; /* sequence numbers: beyond what was sent, what has arrived */
    uint32_t small_end, recovered_at;
    uint32_t window, widest; /* of the peer, as in the header */
    uint32_t room_end;       /* sequence number where that window ends */
    int64_t room;            /* LATE_ACK: what that window had left before it; -1: not known */
    int64_t syn_at;          /* newest SYN */
    int64_t reached_ns;      /* least time from the capture to this end and back */
    int64_t owed_at;         /* the peer's newest data */
    uint32_t owed_end;
    uint32_t data_bytes, data_stamp; /* the newest new data: */
    uint16_t data_ip_id;
    uint64_t data_number, ack_number;
    int64_t data_at, ack_at;
    uint64_t prompt; /* small segments that were acknowledged at once, barely */
    uint64_t messages, overlaps, sent_again, shut_out;
    uint64_t round_trips; /* rest held for a round trip, the acknowledgement not delayed */
    int64_t round_trips_ns;
    struct evidence *evidence;
};

struct flow {
    struct endpoint end[2]; /* end[0] is the smaller one */
    struct sender sender[2];
    int client;       /* 0 or 1; -1: not known */
    int last_speaker; /* whose data came last; -1: nobody's */
    int64_t own_ns; /* from connected to the client's first data, the server silent; -1: not seen */
    bool doubled;   /* each packet was captured more than once (-i any) */
    struct flow *chain, *older, *newer;
};

struct flows;

struct flows *flows_make(uint32_t capacity, void (*done)(void *context, struct flow *f),
                         void *context);
void flows_free(struct flows *t);

/* The flow of a segment, new or known; *from is the index of its source.  Never fails:
 * all memory was had at the beginning. */
struct flow *flows_find(struct flows *t, const struct segment *s, int *from);

/* The same connection begins anew (its ports are used again): what was known goes to `done`. */
void flows_restart(struct flows *t, struct flow *f);

uint64_t flows_given_up(const struct flows *t);

#endif
