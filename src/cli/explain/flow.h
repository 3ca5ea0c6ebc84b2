/* SPDX-License-Identifier: MIT
 *
 * The connections of a capture, in constant memory: a table of fixed size, in which a new connection takes
 * the place of the one that was silent for longest.
 *
 * Ownership: the table owns its flows.  One thread, no globals.
 */
#ifndef UNSTALL_CLI_FLOW_H
#define UNSTALL_CLI_FLOW_H

#include "packet.h"
#include "table.h"
#include "unheld.h"

/* One stall, to be looked up in the capture. */
struct example {
    struct endpoint writer, peer;
    uint64_t number[3]; /* packets: the beginning, the bare acknowledgement, the rest */
    int64_t at_ns[3];
    int64_t answer_at_ns; /* 0: not seen */
    uint32_t bytes[2];    /* of the beginning, and of the rest's first segment */
};

/* Sums for means, variances and a covariance, in microseconds. */
struct pairs {
    double x, y, xx, yy, xy;
};

/* The evidence for and against stalls of one sender; allocated at the first stall. */
struct evidence {
    struct waits
        near; /* the rest came soon after the late acknowledgement, but too late to be its effect */
    struct pairs late_gap; /* x: beginning to acknowledgement, y: acknowledgement to rest */
    struct waits waits;
    struct timeline when; /* of these, and of the answered messages that did not stall */
    struct example examples[EXAMPLES];
    /* Stalls within one of another sender, whose pieces this one may pass on (note_recent() of capture.c): */
    uint32_t relayed;
    uint64_t upstream;   /* that connection */
    uint64_t own, outer; /* the newest stall, and the one around it; 0: none */
};

/* The data of one end that is not acknowledged yet. */
enum outstanding {
    NOTHING_SMALL, /* no data, or no small segment: Nagle's algorithm holds nothing back */
    SMALL_SENT,    /* the last segment was small, and everything before it is acknowledged */
    LATE_ACK,      /* a bare acknowledgement of everything came, late */
};

/* One direction of a connection: the data that one end sends. */
struct sender {
    bool next_known;    /* `next` is known: a packet of this end was seen */
    bool acked_known;   /* `acked` is known: the peer has acknowledged something */
    bool small_out;     /* a small segment that ends at small_end is not acknowledged */
    bool recovering;    /* has sent again; until recovered_at is acknowledged */
    bool stamped;       /* timestamps take 12 bytes of each segment */
    bool end_rtt_known; /* end_rtt_ns is known */
    bool syn_seen;
    bool ack_due;      /* has not acknowledged the peer's newest data */
    bool round_trip;   /* LATE_ACK: late by a round trip only */
    int8_t scale;      /* of the windows that this end announces; -1: its SYN was not seen, or cut */
    uint8_t state;     /* enum outstanding */
    uint16_t mss;      /* announced by the peer; 0: not seen */
    uint16_t path_mss; /* smaller, learnt from segments of equal size in a row; 0: not learnt */
    uint32_t largest;  /* segment up to Ethernet's size: larger ones were put together by a card */
    uint32_t isn;      /* of the newest SYN */
    uint32_t next;     /* sequence number after the last byte sent */
    uint32_t acked;    /* sequence number up to which the peer has acknowledged */
    uint32_t small_end, recovered_at;
    bool hole;         /* data before hole_end was not seen yet */
    uint32_t hole_end;
    uint32_t window, widest; /* of the peer, as in the header */
    uint32_t room_end;       /* sequence number where that window ends */
    int64_t room;            /* LATE_ACK: bytes that the window had left before; -1: not known */
    int64_t syn_at;          /* newest SYN */
    int64_t end_rtt_ns;      /* shortest time from the point of capture to this end and back */
    int64_t ack_due_since;   /* time of the peer's newest data */
    uint32_t ack_due_end;    /* its last sequence number */
    /* The newest new data: */
    uint32_t data_bytes, data_stamp;
    uint16_t data_ip_id;
    uint64_t data_number, ack_number;
    int64_t data_at, ack_at;
    uint64_t prompt;      /* small segments with a bare acknowledgement at once */
    uint64_t messages;    /* runs of data without data of the peer between */
    uint64_t overlaps;    /* small data sent while small data was not acknowledged */
    uint64_t sent_again;  /* retransmissions */
    uint64_t holes;       /* data was acknowledged and never seen */
    uint64_t unacknowledged; /* more came so late that small data must have been acknowledged, unseen */
    uint64_t round_trips; /* the rest waited for a round trip, not for a delayed acknowledgement */
    int64_t round_trips_ns;
    bool unheld;           /* the newest message has its answer, and was not held */
    struct unheld message; /* the newest */
    bool stalled, near;    /* the newest message has stalled; its rest came late, but not at once */
    struct evidence *evidence;
};

struct flow {
    struct node node;       /* a hash of both ends */
    struct endpoint end[2]; /* end[0] is the smaller one */
    struct sender sender[2];
    int client;       /* 0 or 1; -1: not known */
    int last_speaker; /* the end that sent data last; -1: neither */
    /* From connected to the client's first data, if the server was silent until then; -1: not seen. */
    int64_t client_delay_ns;
    bool doubled; /* each packet was captured more than once (-i any) */
    bool copy;    /* the packets of another flow, captured with other addresses (NAT) */
};

/* The flow of a segment, known or new; *from is the index of its source.  Never fails: table_make() has
 * allocated everything.  The `gone` of the table gets each flow before it is evicted, restarted or freed, and
 * calls flow_end(). */
struct flow *flows_find(struct table *t, const struct tcp_segment *s, int *from);
void flow_end(struct flow *f);

/* Begins the same flow anew, for a second connection on the same ports. */
void flows_restart(struct table *t, struct flow *f);

#endif
