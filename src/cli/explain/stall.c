/* SPDX-License-Identifier: MIT */
#include "stall.h"

#include <math.h>
#include <stdlib.h>

/* The smallest MSS of IPv6 (1280 - 60): a smaller segment is small on every path. */
enum { MSS_LEAST = 1220, MSS_ETHERNET = 1460, STAMP_BYTES = 12u };

/* Copies of one packet are microseconds apart; no retransmission comes that soon. */
enum { COPY_NS = 5 * MS };

/* Up to PROMPT_NS an acknowledgement was not delayed.  One late acknowledgement among PROMPT_MOST prompt ones
 * comes from a busy machine. */
enum { PROMPT_NS = 5 * MS, PROMPT_MOST = 50, USUAL_LEAST_US = LATE_USUAL_MS * 1000 };

/* No path has a longer round trip. */
static const int64_t WAY_MOST_NS = 10000 * MS;

/* Data that comes up to so much later than an acknowledgement can cause it is "near". */
enum { NEAR_NS = 10 * MS };

/* a - b of sequence numbers, which wrap. */
static int32_t beyond(uint32_t a, uint32_t b) {
    return (int32_t)(a - b);
}

/* ---- sizes ----------------------------------------------------------- */

static uint32_t full_size(const struct flow *f, const struct sender *a) {
    if (a->path_mss)
        return a->path_mss;
    if (a->mss)
        return a->mss - (a->stamped && a->mss > STAMP_BYTES ? STAMP_BYTES : 0u);
    if (endpoint_is_loopback(&f->end[0]) && endpoint_is_loopback(&f->end[1]))
        return 65464; /* lo's MTU of 65 536 less IPv6's headers and timestamps */
    return a->largest > MSS_LEAST ? a->largest : MSS_LEAST;
}

/* Segments above the full size were cut later (TSO) or put together (GRO).  The size of their last part is
 * not known, so they do not count as small. */
static bool is_small(const struct flow *f, const struct sender *a, uint32_t bytes) {
    return bytes < full_size(f, a);
}

/* True for small data sent while small data is not acknowledged: Nagle's algorithm would hold it, so it is
 * off.  But equal sizes in a row show a path narrower than the peer's MSS. */
static bool overlaps(struct sender *a, const struct tcp_segment *s) {
    if (!a->small_out)
        return false;
    if (s->payload == a->data_bytes && s->payload >= 536 && s->payload <= MSS_ETHERNET) {
        a->path_mss = (uint16_t)s->payload;
        return false;
    }
    a->overlaps++;
    return true;
}

/* ---- times ----------------------------------------------------------- */

/* The longest time after an acknowledgement at which its effect can come: a round trip to the sender, half
 * of it as a margin, and 1 ms.  If the round trip is not known, the capture is taken to be near the sender.
 */
static int64_t at_once(const struct sender *a) {
    return a->end_rtt_known ? a->end_rtt_ns + a->end_rtt_ns / 2 + 1 * MS : 2 * MS;
}

/* ns: from a packet to this end's answer.  Outside of a handshake, the first answer counts only if it is
 * too quick for a delayed acknowledgement. */
static void note_end_rtt(struct sender *a, int64_t ns, bool handshake) {
    if (ns < 0 || ns > WAY_MOST_NS || (!handshake && !a->end_rtt_known && ns >= LATE_LEAST_NS))
        return;
    if (!a->end_rtt_known || ns < a->end_rtt_ns)
        a->end_rtt_ns = ns;
    a->end_rtt_known = true;
}

static void note_answer(struct flow *f, int from, const struct tcp_segment *s, int64_t now) {
    struct sender *a = &f->sender[from], *b = &f->sender[!from];
    if (!(s->flags & TCP_ACK))
        return;
    if (b->syn_seen && !b->acked_known && s->ack == b->next)
        note_end_rtt(a, now - b->syn_at, true);
    if (a->ack_due && beyond(s->ack, a->ack_due_end) >= 0) {
        note_end_rtt(a, now - a->ack_due_since, false);
        a->ack_due = false;
    }
}

/* ---- a stall --------------------------------------------------------- */

static void note(struct pairs *p, int64_t x_ns, int64_t y_ns) {
    double x = (double)x_ns / 1000, y = (double)y_ns / 1000;
    p->x += x;
    p->y += y;
    p->xx += x * x;
    p->yy += y * y;
    p->xy += x * y;
}

static void record(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                   int64_t now) {
    struct sender *a = &f->sender[from];
    struct evidence *e = a->evidence;
    if (e->waits.count < EXAMPLES)
        e->examples[e->waits.count] = (struct example){
            .writer = f->end[from],
            .peer = f->end[!from],
            .number = {a->data_number, a->ack_number, number},
            .at_ns = {a->data_at, a->ack_at, now},
            .bytes = {a->data_bytes, s->payload},
        };
    note(&e->late_gap, a->ack_at - a->data_at, now - a->ack_at);
    waits_add(&e->waits, now - a->data_at);
    timeline_add(&e->when, now, 1, 0);
    a->stalled = true;
}

/* True if the peer's window had no room for this before the late acknowledgement opened it. */
static bool window_was_full(const struct flow *f, int from, uint32_t bytes) {
    const struct sender *a = &f->sender[from];
    if (a->room < 0)
        return false;
    return a->room < (int64_t)(is_small(f, a, bytes) ? bytes : full_size(f, a));
}

/* New data after a late acknowledgement. */
static void resume(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                   int64_t now) {
    struct sender *a = &f->sender[from];
    int64_t gap = now - a->ack_at, limit = at_once(a);
    if (gap < 0 || gap > limit + NEAR_NS)
        return;
    if (window_was_full(f, from, s->payload))
        return;
    if (a->round_trip) {
        if (gap <= limit) {
            a->round_trips++;
            a->round_trips_ns += now - a->data_at;
        }
        return;
    }
    if (!a->evidence)
        a->evidence = calloc(1, sizeof(*a->evidence));
    if (!a->evidence)
        return;
    /* Seen from the far end, the effect takes a whole round trip: data that comes sooner is chance. */
    bool too_soon = a->end_rtt_known && a->end_rtt_ns > 4 * MS && gap < a->end_rtt_ns / 10 * 8;
    a->near = gap > limit || too_soon;
    if (a->near)
        waits_add(&a->evidence->near, now - a->data_at);
    else
        record(f, from, s, number, now);
}

/* ---- acknowledgements ------------------------------------------------ */

static void late_or_not(struct flow *f, int from, uint64_t number, int64_t now) {
    struct sender *a = &f->sender[from];
    const struct sender *b = &f->sender[!from];
    int64_t wait = now - a->data_at, way = b->end_rtt_known ? b->end_rtt_ns : 0;
    a->state = NOTHING_SMALL;
    if (wait - way < PROMPT_NS)
        a->prompt++;
    if (wait < 2 * MS || wait - way > LATE_MOST_NS)
        return;
    a->round_trip = wait - way < LATE_LEAST_NS;
    if (a->round_trip && way < 2 * MS)
        return; /* neither delayed nor a round trip */
    a->state = LATE_ACK;
    a->ack_at = now;
    a->ack_number = number;
}

static void announce(struct sender *a, int8_t scale, const struct tcp_segment *s) {
    a->window = s->window;
    if (a->window > a->widest && !(s->flags & TCP_SYN)) /* that one is never scaled */
        a->widest = a->window;
    a->room_end = s->ack + (s->window << (s->flags & TCP_SYN || scale < 0 ? 0 : scale));
}

/* The room in the peer's window before this acknowledgement; -1: not known.  Without a captured handshake
 * its scale is not known, and only a nearly closed window can be told. */
static int64_t room_left(const struct sender *a, int8_t scale) {
    if (!a->acked_known)
        return -1;
    if (scale >= 0)
        return beyond(a->room_end, a->next) > 0 ? beyond(a->room_end, a->next) : 0;
    return a->window == 0 || a->window < a->widest / 8 ? 0 : -1;
}

/* The peer has acknowledged data that the capture lacks: it was not lost on its way. */
static void count_hole(struct sender *a) {
    if (!a->hole || !a->acked_known || beyond(a->acked, a->hole_end) < 0)
        return;
    a->hole = false;
    a->holes++;
}

/* from: the end whose data are acknowledged. */
static void acknowledge(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                        int64_t now) {
    struct sender *a = &f->sender[from];
    int8_t scale = f->sender[!from].scale;
    if (!a->acked_known || beyond(s->ack, a->acked) > 0) {
        bool bare = s->payload == 0 && !(s->flags & (TCP_SYN | TCP_FIN | TCP_RST));
        bool all = a->next_known && s->ack == a->next;
        if (a->state == SMALL_SENT && all) {
            a->room = room_left(a, scale);
            if (bare)
                late_or_not(f, from, number, now);
            else
                a->state = NOTHING_SMALL;
        }
        if (a->small_out && beyond(s->ack, a->small_end) >= 0)
            a->small_out = false;
        if (a->recovering && beyond(s->ack, a->recovered_at) >= 0)
            a->recovering = false;
        a->acked = s->ack;
        count_hole(a);
    }
    announce(a, scale, s);
    a->acked_known = true;
}

/* ---- data ------------------------------------------------------------ */

static bool is_copy(const struct flow *f, const struct sender *a, const struct tcp_segment *s,
                    int64_t now) {
    if (now - a->data_at > COPY_NS)
        return false;
    return f->doubled || (s->payload == a->data_bytes && s->ip_id == a->data_ip_id &&
                          s->stamp == a->data_stamp && s->seq + s->payload == a->next);
}

/* Data out of sequence: a copy, a packet lost by the capture, reordering, or a retransmission. */
static void out_of_turn(struct flow *f, struct sender *a, const struct tcp_segment *s, uint32_t end,
                        int64_t now) {
    if (beyond(s->seq, a->next) < 0 && is_copy(f, a, s, now) && beyond(end, a->next) <= 0) {
        f->doubled = true;
        return;
    }
    if (beyond(s->seq, a->next) < 0 && !(s->payload <= 1 && beyond(end, a->next) == 0)) {
        a->sent_again++;
        a->recovering = true;
        a->message.pieces = UNHELD_NOT; /* its answer has waited for this */
    }
    a->state = NOTHING_SMALL;
    if (beyond(s->seq, a->next) > 0)
        a->hole_end = s->seq;
    a->hole = beyond(s->seq, a->next) > 0;
    count_hole(a);
    if (beyond(end, a->next) > 0)
        a->next = end;
    a->recovered_at = a->next;
}

/* The newest message of this end has its answer. */
static void answered(struct sender *a, uint64_t number, int64_t now) {
    struct evidence *e = a->evidence;
    a->unheld = unheld_answered(&a->message, number, now);
    if (a->stalled && e->waits.count <= EXAMPLES)
        e->examples[e->waits.count - 1].answer_at_ns = now;
    if (e && !a->stalled && !a->near)
        timeline_add(&e->when, now, 0, 1);
    a->stalled = a->near = false;
}

static void new_data(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                     int64_t now) {
    struct sender *a = &f->sender[from], *b = &f->sender[!from];
    if (s->payload > a->largest && s->payload <= MSS_ETHERNET)
        a->largest = s->payload;
    bool small = is_small(f, a, s->payload) && !(s->flags & TCP_FIN);
    bool overlapping = small && overlaps(a, s);
    small = small && is_small(f, a, s->payload); /* overlaps() may have learnt path_mss */
    if (a->state == LATE_ACK)
        resume(f, from, s, number, now);
    if (a->state == SMALL_SENT && now - a->data_at >= LATE_LEAST_NS && now - a->data_at <= LATE_MOST_NS)
        a->unacknowledged++;
    a->state = small && !overlapping && !a->recovering ? SMALL_SENT : NOTHING_SMALL;
    a->next = s->seq + s->payload;
    if (small) {
        a->small_out = true;
        a->small_end = a->next;
    }
    a->data_at = now;
    a->data_number = number;
    a->data_bytes = s->payload;
    a->data_ip_id = s->ip_id;
    a->data_stamp = s->stamp;
    if (f->last_speaker < 0 && f->client == from && b->syn_seen)
        f->client_delay_ns = now - b->syn_at;
    if (f->last_speaker != from) {
        a->messages++;
        a->message = (struct unheld){.pieces = 0};
        answered(b, number, now);
    }
    unheld_piece(&a->message, number, now, s->payload);
    f->last_speaker = from;
    b->state = NOTHING_SMALL; /* this end's data ends the peer's silence */
    b->ack_due = true;
    b->ack_due_since = now;
    b->ack_due_end = a->next;
}

static void data(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                 int64_t now) {
    struct sender *a = &f->sender[from];
    uint32_t end = s->seq + s->payload;
    if (!a->next_known)
        a->next = s->seq;
    a->next_known = true;
    if (s->payload > 0) {
        if (s->seq == a->next)
            new_data(f, from, s, number, now);
        else
            out_of_turn(f, a, s, end, now);
    }
    if (s->flags & TCP_FIN && end == a->next) {
        a->next++;
        a->state = NOTHING_SMALL;
    }
}

/* ---- the handshake --------------------------------------------------- */

bool stall_is_new_connection(const struct flow *f, int from, const struct tcp_segment *s) {
    const struct sender *a = &f->sender[from];
    bool repeated = a->syn_seen && a->isn == s->seq;
    return (s->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN && a->next_known && !repeated;
}

static void syn(struct flow *f, int from, const struct tcp_segment *s, int64_t now) {
    struct sender *a = &f->sender[from];
    f->client = s->flags & TCP_ACK ? !from : from;
    if (a->syn_seen && a->isn == s->seq) {
        if (now - a->syn_at < COPY_NS)
            f->doubled = true;
        else
            a->syn_at = now; /* a retransmission: the answer is mostly to this one */
        return;
    }
    a->syn_seen = true;
    a->syn_at = now;
    a->isn = s->seq;
    a->next_known = true;
    a->next = s->seq + 1;
    if (s->scale >= 0 || !s->options_cut) /* RFC 7323, 2.2: both ends scale, or neither */
        a->scale = (int8_t)(s->scale < 0 ? 0 : s->scale);
    f->sender[!from].mss = s->mss;
}

void stall_feed(struct flow *f, int from, const struct tcp_segment *s, uint64_t number,
                int64_t now) {
    struct sender *a = &f->sender[from];
    note_answer(f, from, s, now);
    a->stamped = s->stamped;
    if (s->flags & TCP_SYN)
        syn(f, from, s, now);
    if (s->flags & TCP_ACK)
        acknowledge(f, !from, s, number, now);
    if (s->flags & TCP_RST)
        f->sender[0].state = f->sender[1].state = NOTHING_SMALL;
    else if (!(s->flags & TCP_SYN))
        data(f, from, s, number, now);
}

/* ---- the verdict ----------------------------------------------------- */

/* True if the rest follows the acknowledgement as an effect follows its cause: the gap between them varies
 * little, and does not depend on how late the acknowledgement came.  An application with a clock of its own
 * has a gap that is smaller by as much as the acknowledgement is later.  On a busy machine both may depend on
 * the load, but then the gap varies far less. */
static bool follows_the_acknowledgement(const struct evidence *e) {
    const struct pairs *p = &e->late_gap;
    double n = e->waits.count;
    if (n < 4)
        return true;
    double late = p->x / n, gap = p->y / n;
    double late_var = p->xx / n - late * late, gap_var = p->yy / n - gap * gap;
    double covariance = p->xy / n - late * gap;
    if (gap_var > 1e6 && gap_var > 0.3 * 0.3 * gap * gap)
        return false; /* spread over the whole allowed time */
    if (n < 8 || gap_var < 100 || late_var < 100)
        return true; /* below 10 us: too small to correlate */
    double correlation = covariance / sqrt(late_var * gap_var);
    return correlation > -0.25 - 1.4 / sqrt(n) || /* rejects one true sender in a hundred */
           covariance > -0.1 * late_var;
}

void stall_waits(const struct flow *f, int sender, struct waits *into) {
    const struct sender *a = &f->sender[sender];
    const struct evidence *e = a->evidence;
    waits_merge(into, &e->waits);
    if (e->waits.count >= 2 * (e->near.count + a->overlaps))
        waits_merge(into, &e->near);
}

enum stall_verdict stall_judge(const struct flow *f, int sender) {
    const struct sender *a = &f->sender[sender];
    const struct evidence *e = a->evidence;
    if (!e)
        return STALL_NONE;
    if (e->waits.count <= e->near.count + a->overlaps || !follows_the_acknowledgement(e))
        return STALL_CHANCE;
    /* One or two that are late by less than the timers in wide use are chance, too. */
    bool few = e->waits.count < 3 && e->late_gap.x / e->waits.count < USUAL_LEAST_US;
    if (few || a->prompt > PROMPT_MOST * (uint64_t)e->waits.count)
        return STALL_CHANCE;
    bool answered = f->sender[!sender].messages > 0;
    return answered || e->waits.count < 8 ? STALL_FOUND : STALL_ONE_WAY;
}
