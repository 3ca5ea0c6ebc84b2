/* SPDX-License-Identifier: MIT
 *
 * Packets in, findings out.
 */
#include "explain.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"
#include "stats_format.h"

/* 8192 connections at a time take 6 MiB, and 21 MiB more if each of them stalled. */
enum { CONNECTIONS = 8192 };

/* The newest stalls and connections, and how much later a router or a relay passes a piece on. */
enum { RECENT = 64 };
static const int64_t PASSED_ON_NS = 5 * MS;

/* The messages that were not held: the last one of each writer, service and size. */
enum { MESSAGES_UNHELD = 1024 };

/* The client delays that are worth a note.  Longer ones are connections made in advance. */
static const int64_t CLIENT_DELAY_LEAST_NS = 100 * MS, CLIENT_DELAY_MOST_NS = 10000 * MS;

/* A stall, or the SYN of a connection. */
struct recent {
    struct endpoint reader;
    bool is_syn, by_server, copy, answered;
    uint64_t flow, key; /* `key` of its sender */
    int64_t at_ns[2];   /* beginning and rest */
    uint32_t bytes[2];
    uint32_t seq, stamp;
};

struct capture {
    struct findings *out;
    struct recent recent[RECENT];
    uint64_t newest; /* of these */
    uint64_t relayed;
    char relay[2][ENDPOINT_TEXT]; /* the first one and its peer, for the note */
    struct table flows;
    struct table unheld; /* of struct unheld_item */
    struct waits client_delays;          /* client delays: from connected to the first data */
    char client_delay_at[ENDPOINT_TEXT]; /* the client with the longest */
    uint64_t fragments, cut, undated, tunnels, one_sided, by_chance, copies;
    const char *tunnel; /* the name of one */
    uint64_t round_trips;
    int64_t round_trips_ns;
    char round_trip_writer[ENDPOINT_TEXT]; /* the first one, for the note */
    struct order order;
    int64_t newest_ns;
    bool out_of_order; /* in the file */
    uint64_t sent_again, holes, unacknowledged;
    uint64_t bare; /* segments without data that only acknowledge */
};

struct unheld_item {
    struct node node;
    struct endpoint writer, peer;
    struct unheld message;
};

/* The end that offers the service: it did not send the SYN.  Without a captured SYN, the end with the
 * smaller port. */
static int service_of(const struct flow *f) {
    if (f->client >= 0)
        return !f->client;
    return f->end[0].port <= f->end[1].port ? 0 : 1;
}

/* ---- messages that were not held -------------------------------------- */

/* Adds an end of the connection to the hash of a writer and its service. */
static uint64_t endpoint_key(uint64_t key, const struct endpoint *e, bool with_port) {
    key = stats_hash(key, e->address, sizeof(e->address));
    return with_port ? stats_hash(key, &e->port, sizeof(e->port)) : key;
}

static uint64_t sender_key(const struct flow *f, int from) {
    uint64_t key = endpoint_key(from == service_of(f), &f->end[from], false);
    return endpoint_key(key, &f->end[service_of(f)], true);
}

/* Of a message of this size (unheld_size()). */
static uint64_t unheld_key(uint64_t sender, uint8_t size) {
    return stats_hash(sender, &size, sizeof(size));
}

static void remember_unheld(struct capture *c, const struct flow *f, int from) {
    const struct unheld *m = &f->sender[from].message;
    uint64_t key = unheld_key(sender_key(f, from), unheld_size(unheld_bytes(m)));
    struct unheld_item *item = table_find(&c->unheld, key);
    if (!item)
        item = table_add(&c->unheld, key);
    item->writer = f->end[from];
    item->peer = f->end[!from];
    item->message = *m;
}

static void find_unheld(struct capture *c, struct finding *r) {
    const struct finding_example *e = &r->examples[0];
    uint64_t bytes = (uint64_t)e->bytes[0] + e->bytes[1];
    for (int apart = -UNHELD_SIZES_APART; apart <= UNHELD_SIZES_APART; apart++) {
        uint64_t key = unheld_key(r->key, (uint8_t)(unheld_size(bytes) + apart));
        struct unheld_item *item = table_find(&c->unheld, key);
        if (!item || !unheld_is_about(&item->message, bytes))
            continue;
        r->unheld = item->message;
        packet_endpoint_text(&item->writer, true, r->unheld_from);
        packet_endpoint_text(&item->peer, true, r->unheld_to);
    }
}

/* ---- what routers and relays pass on ----------------------------------- */

/* An address is translated by a router, and the sequence number stays. */
static bool is_translated(const struct flow *f, const struct recent *s, const struct recent *r) {
    return r->flow != f->node.key && r->seq == s->seq && r->stamp == s->stamp;
}

/* A relay passes a stall on: its own pieces are as far apart, and the timer of its peer's acknowledgement,
 * which began with that of its own, ends with it.  So they look like a stall of the relay, also where it has
 * set TCP_NODELAY.  Pieces of the same sizes, just behind those that this host has read, and an answer before
 * theirs show it: of two clients that run in step, the first has its answer first. */
static bool is_relayed(const struct flow *f, int from, const struct recent *s, const struct recent *r) {
    const struct evidence *e = f->sender[from].evidence;
    return !s->is_syn && r->key != s->key && r->by_server == s->by_server &&
           memcmp(r->reader.address, f->end[from].address, sizeof(r->reader.address)) == 0 &&
           (!e->relayed || e->upstream == r->flow);
}

static void note_recent(struct capture *c, struct flow *f, int from, struct recent *s) {
    struct evidence *e = f->sender[from].evidence;
    uint64_t outer = 0, own = ++c->newest;
    s->reader = f->end[!from];
    s->by_server = from == service_of(f);
    s->flow = f->node.key;
    s->key = sender_key(f, from);
    for (uint64_t n = own > RECENT ? own - RECENT + 1 : 1; n < own; n++) {
        const struct recent *r = &c->recent[n % RECENT];
        bool just_behind = true;
        for (int piece = 0; piece < 2; piece++)
            just_behind &= s->bytes[piece] == r->bytes[piece] &&
                           s->at_ns[piece] >= r->at_ns[piece] &&
                           s->at_ns[piece] - r->at_ns[piece] <= PASSED_ON_NS;
        f->copy |= just_behind && is_translated(f, s, r) && !r->copy;
        if (just_behind && is_relayed(f, from, s, r))
            outer = n;
    }
    s->copy = f->copy;
    c->recent[own % RECENT] = *s;
    if (!s->is_syn) {
        e->own = own;
        e->outer = outer;
    }
}

/* The newest message of this sender, which has stalled, has its answer. */
static void note_answer(struct capture *c, const struct flow *f, int from) {
    struct evidence *e = f->sender[from].evidence;
    const struct recent *outer = &c->recent[e->outer % RECENT];
    if (e->outer && c->newest - e->outer < RECENT && !outer->answered) {
        e->upstream = outer->flow;
        e->relayed++;
    }
    if (c->newest - e->own < RECENT)
        c->recent[e->own % RECENT].answered = true;
}

static void add_relayed(struct capture *c, const struct flow *f, int from) {
    for (int end = 0; end < 2 && !c->relayed; end++)
        packet_endpoint_text(&f->end[end ? !from : from], true, c->relay[end]);
    c->relayed += f->sender[from].evidence->waits.count;
}

static uint32_t stalls_of(const struct flow *f, int from) {
    const struct evidence *e = f->sender[from].evidence;
    return e ? e->waits.count : 0;
}

/* ---- connections into findings --------------------------------------- */

static void show(const struct example *e, struct finding_example *out) {
    packet_endpoint_text(&e->writer, true, out->from);
    packet_endpoint_text(&e->peer, true, out->to);
    memcpy(out->number, e->number, sizeof(out->number));
    memcpy(out->at_ns, e->at_ns, sizeof(out->at_ns));
    out->answer_at_ns = e->answer_at_ns;
    memcpy(out->bytes, e->bytes, sizeof(out->bytes));
}

static void add_stalls(struct capture *c, const struct flow *f, int from,
                       enum stall_verdict verdict) {
    const struct sender *a = &f->sender[from];
    const struct evidence *e = a->evidence;
    int service = service_of(f);
    struct finding like = {.verdict = verdict,
                           .by_server = from == service,
                           .port = f->end[service].port,
                           .key = sender_key(f, from)};
    packet_endpoint_text(&f->end[service], true, like.service);
    packet_endpoint_text(&f->end[from], false, like.writer_host);
    snprintf(like.writer, sizeof(like.writer), "%s",
             like.by_server ? like.service : like.writer_host);
    struct finding *row = findings_row(c->out, &like);
    for (uint32_t i = 0; i < e->waits.count && i < EXAMPLES && row->waits.count + i < EXAMPLES; i++)
        show(&e->examples[i], &row->examples[row->waits.count + i]);
    row->connections++;
    row->messages += a->messages;
    stall_waits(f, from, &row->waits);
    timeline_merge(&row->when, &e->when);
}

static void add_sender(struct capture *c, const struct flow *f, int from) {
    const struct sender *a = &f->sender[from];
    enum stall_verdict verdict = stall_judge(f, from);
    if (verdict == STALL_CHANCE)
        c->by_chance += a->evidence->waits.count;
    else if (verdict == STALL_FOUND && a->evidence->relayed > a->evidence->waits.count / 4 * 3)
        add_relayed(c, f, from);
    else if (verdict != STALL_NONE)
        add_stalls(c, f, from, verdict);
    if (a->round_trips > a->overlaps) {
        if (c->round_trips == 0)
            packet_endpoint_text(&f->end[from], true, c->round_trip_writer);
        c->round_trips += a->round_trips;
        c->round_trips_ns += a->round_trips_ns;
    }
    c->sent_again += a->sent_again;
    c->holes += a->holes;
    c->unacknowledged += a->unacknowledged;
    if (a->messages > 0 && !a->acked_known)
        c->one_sided++;
}

/* A slow start is often taken for a stall: initialising TLS takes some clients most of a second. */
static void note_client_delay(struct capture *c, const struct flow *f) {
    if (f->client_delay_ns < CLIENT_DELAY_LEAST_NS || f->client_delay_ns > CLIENT_DELAY_MOST_NS)
        return;
    if (f->client_delay_ns > c->client_delays.max_ns)
        packet_endpoint_text(&f->end[f->client], true, c->client_delay_at);
    waits_add(&c->client_delays, f->client_delay_ns);
}

static void finished(void *context, void *flow) {
    struct capture *c = context;
    struct flow *f = flow;
    uint64_t least = f->sender[0].messages < f->sender[1].messages ? f->sender[0].messages
                                                                   : f->sender[1].messages;
    c->copies += f->copy;
    if (!f->copy) {
        c->out->connections++;
        c->out->exchanges += least;
        c->out->firsts += least > 0;
        note_client_delay(c, f);
        add_sender(c, f, 0);
        add_sender(c, f, 1);
    }
    flow_end(f);
}

/* ---- packets --------------------------------------------------------- */

static void take(void *context, const struct ordered *o) {
    struct capture *c = context;
    const struct tcp_segment *s = &o->segment;
    int from;
    if (memcmp(&s->source, &s->destination, sizeof(s->source)) == 0)
        return; /* connected to itself: the directions look the same */
    c->bare += s->payload == 0 && !(s->flags & (TCP_SYN | TCP_FIN | TCP_RST));
    struct flow *f = flows_find(&c->flows, s, &from);
    if (s->flags & TCP_SYN && stall_is_new_connection(f, from, s))
        flows_restart(&c->flows, f);
    bool begins = (s->flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
    struct recent recent = {.is_syn = begins,
                            .at_ns = {f->sender[from].data_at, o->at_ns},
                            .bytes = {f->sender[from].data_bytes, s->payload},
                            .seq = s->seq,
                            .stamp = s->stamp};
    uint32_t stalls = stalls_of(f, from);
    bool stalled = f->sender[!from].stalled;
    stall_feed(f, from, s, o->number, o->at_ns);
    if (begins || stalls_of(f, from) > stalls)
        note_recent(c, f, from, &recent);
    if (stalled && !f->sender[!from].stalled)
        note_answer(c, f, !from);
    if (f->sender[!from].unheld) {
        remember_unheld(c, f, !from);
        f->sender[!from].unheld = false;
    }
}

/* Time stamps outside of 1970 to 2106 are damaged and become 0, so that no difference overflows.  libpcap
 * reads those of 32 bits as signed. */
static int64_t time_of(struct capture *c, const struct pcap_pkthdr *header) {
    int64_t seconds = (int64_t)header->ts.tv_sec,
            ns = (int64_t)header->ts.tv_usec; /* nanoseconds, by the requested precision */
    if (seconds < 0 && seconds >= INT32_MIN)
        seconds += (int64_t)UINT32_MAX + 1;
    bool damaged = seconds < 0 || seconds > UINT32_MAX || ns < 0 || ns >= 1000000000;
    c->undated += damaged;
    if (damaged)
        return 0;
    return seconds * 1000000000 + ns;
}

static void packet(struct capture *c, int link, const struct pcap_pkthdr *header,
                   const u_char *data) {
    struct findings *out = c->out;
    struct ordered o = {.at_ns = time_of(c, header), .number = ++out->entries};
    if (!out->from_ns || (o.at_ns && o.at_ns < out->from_ns)) /* a damaged one says nothing */
        out->from_ns = o.at_ns;
    if (o.at_ns > out->until_ns)
        out->until_ns = o.at_ns;
    c->out_of_order |= o.at_ns < c->newest_ns;
    c->newest_ns = o.at_ns;
    switch (packet_read(link, data, header->caplen, header->len, &o.segment)) {
    case PACKET_TCP:
        out->understood++;
        order_add(&c->order, &o);
        break;
    case PACKET_FRAGMENT: c->fragments++; break;
    case PACKET_CUT: c->cut++; break;
    case PACKET_TUNNEL:
        c->tunnels++;
        c->tunnel = o.segment.tunnel;
        break;
    case PACKET_OTHER: break;
    }
}

/* ---- what cannot be told --------------------------------------------- */

/* Sorting by time was not enough: packets are too far from their places, or a clock was set back, so that the
 * data do not follow one another by it. */
static bool is_unordered(const struct capture *c) {
    return c->order.late || (c->out_of_order && c->sent_again * 20 > c->out->understood);
}

/* Sees whether so many packets were out of sight that a stall may be. */
static bool is_much(const struct capture *c, uint64_t packets) {
    return packets > 0 && packets >= c->out->understood / 20;
}

/* "1 packet is", "83 packets are" */
static const char *packets_are(uint64_t n, char text[48]) {
    snprintf(text, 48, "%" PRIu64 " packet%s", n, n == 1 ? " is" : "s are");
    return text;
}

/* Why no verdict can be given where no stall is seen.  What it tells is no note any more. */
static void reason(struct capture *c) {
    struct findings *out = c->out;
    uint64_t one_sided = c->one_sided;
    char *text = out->because, packets[48];
    if (is_much(c, c->cut)) {
        snprintf(text, NOTE_TEXT,
                 "%s cut before the end of the TCP header; record with a larger snap length (tcpdump -s 192)",
                 packets_are(c->cut, packets));
        c->cut = 0;
    } else if (is_much(c, c->undated)) {
        snprintf(text, NOTE_TEXT, "%s without a time from 1970 to 2106; was its clock set?",
                 packets_are(c->undated, packets));
    } else if (out->understood == 0 && c->tunnels) {
        snprintf(text, NOTE_TEXT,
                 "there is no TCP in this capture, but %s of a tunnel that cannot be read (%s); record on "
                 "the tunnel's own interface (tcpdump -i any)",
                 packets_are(c->tunnels, packets), c->tunnel);
    } else if (is_much(c, c->fragments)) {
        snprintf(text, NOTE_TEXT, "%s of the fragments that are not put together",
                 packets_are(c->fragments, packets));
        c->fragments = 0;
    } else if (c->one_sided && out->exchanges < out->firsts + VERDICT_LEAST) {
        snprintf(text, NOTE_TEXT,
                 "%" PRIu64 " connection%s captured in one direction only; record both (tcpdump without "
                 "'src' and 'dst', on one interface)",
                 one_sided, one_sided == 1 ? " was" : "s were");
        c->one_sided = 0;
    } else if (c->bare == 0 && c->unacknowledged) {
        snprintf(text, NOTE_TEXT,
                 "no packet without data is in this capture, so acknowledgements are missing; record all "
                 "packets of the connection (tcpdump tcp port N, without a filter of lengths or flags)");
    } else if (is_unordered(c)) {
        snprintf(text, NOTE_TEXT,
                 "time stamps go backwards, and sorted by time the data do not follow one another: a clock "
                 "was set, or the packets are too far from their places (reordercap sorts those)");
    }
}

/* ---- notes ----------------------------------------------------------- */

static void notes(struct capture *c) {
    struct findings *out = c->out;
    char text[24], packets[48];
    if (c->client_delays.count)
        findings_note(
            out,
            "Not the network: %lu time%s the client was connected and silent for %s%s before its "
            "first data (%s): its own time, such as for initialising TLS.",
            (unsigned long)c->client_delays.count, c->client_delays.count == 1 ? "" : "s",
            c->client_delays.count == 1 ? "" : "up to ",
            duration_text(c->client_delays.max_ns, text), c->client_delay_at);
    if (c->round_trips >= 3)
        findings_note(
            out,
            "%lu times (%s and others) the rest waited for a plain round trip, %s each: Nagle's "
            "algorithm without a delayed acknowledgement. Not counted above; unstall on "
            "the writing side removes it too.",
            (unsigned long)c->round_trips, c->round_trip_writer,
            duration_text(c->round_trips_ns / (int64_t)c->round_trips, text));
    if (c->relayed)
        findings_note(out,
                      "%lu stall%s (%s to %s%s) came within those of a connection that the same host reads "
                      "from, in pieces of the same sizes: a relay passes them on. Not counted; cure the "
                      "writer before it, and record again.",
                      (unsigned long)c->relayed, c->relayed == 1 ? "" : "s", c->relay[0], c->relay[1],
                      c->relayed == 1 ? "" : " and others");
    if (c->by_chance)
        findings_note(out,
                      "%lu time%s data followed a late acknowledgement closely, but in a rhythm of "
                      "the application that does not depend on the acknowledgements: not counted.",
                      (unsigned long)c->by_chance, c->by_chance == 1 ? "" : "s");
    if (c->one_sided)
        findings_note(out,
                      "%lu connection%s captured in one direction only and cannot be judged. "
                      "Capture both (tcpdump without 'src' and 'dst', on one interface).",
                      (unsigned long)c->one_sided, c->one_sided == 1 ? " was" : "s were");
    if (c->copies)
        findings_note(out,
                      "%lu connection%s under other addresses, too (address translation), and "
                      "count%s once.",
                      (unsigned long)c->copies, c->copies == 1 ? " was captured" : "s were captured",
                      c->copies == 1 ? "s" : "");
    if (c->fragments)
        findings_note(out, "%lu fragment%s of IP packets left out.", (unsigned long)c->fragments,
                      c->fragments == 1 ? " was" : "s were");
    if (c->cut)
        findings_note(out,
                      "%s cut before the end of the TCP header: capture with a larger snap length "
                      "(tcpdump -s 192).",
                      packets_are(c->cut, packets));
    if (c->holes && !is_unordered(c))
        findings_note(out,
                      "At %" PRIu64 " place%s data is missing in this capture (tcpdump tells how many "
                      "packets the kernel has dropped): stalls there may be missed.",
                      c->holes, c->holes == 1 ? "" : "s");
    if (out->evicted)
        findings_note(out,
                      "More than %d connections at a time: %lu time%s the one that was silent longest was "
                      "judged by its packets until then, and counts again where it goes on.",
                      CONNECTIONS, (unsigned long)out->evicted, out->evicted == 1 ? "" : "s");
    if (is_unordered(c) && !out->because[0])
        findings_note(out, "Time stamps go backwards in places: stalls there may be missed.");
}

/* libpcap reads files with one link type; Wireshark writes files with several. */
static void advise_one_link(int link, char *text, size_t size) {
    const char *name = link == DLT_LINUX_SLL    ? "linux-sll"
                       : link == DLT_LINUX_SLL2 ? "linux-sll2"
                       : link == DLT_NULL       ? "null"
                       : link == DLT_LOOP       ? "loop"
                       : link == DLT_EN10MB     ? "ether"
                                                : "rawip";
    snprintf(text, size,
             "; leave one interface, here the first: tshark -r FILE -Y frame.interface_id==0 -w - | "
             "editcap -F pcap -T %s - NEW",
             name);
}

static int read_packets(pcap_t *pcap, struct capture *c) {
    struct pcap_pkthdr *header;
    const u_char *data;
    int link = pcap_datalink(pcap), result;
    while ((result = pcap_next_ex(pcap, &header, &data)) == 1) {
        packet(c, link, header, data);
        progress_step(c->out->entries);
    }
    order_end(&c->order);
    if (result == PCAP_ERROR) {
        bool several = strstr(pcap_geterr(pcap), "different from the type of the first") != NULL;
        char advice[160] = "";
        if (several)
            advise_one_link(link, advice, sizeof(advice));
        snprintf(c->out->stopped, NOTE_TEXT, "%s after packet %lu: %s%s",
                 several ? "not understood" : "damaged", (unsigned long)c->out->entries,
                 pcap_geterr(pcap), advice);
    }
    return c->out->entries == 0 && result == PCAP_ERROR ? -EBADMSG : 0;
}

static int refuse_link(struct findings *out, int link) {
    const char *name = pcap_datalink_val_to_name(link);
    snprintf(out->stopped, NOTE_TEXT,
             "link type %s (%d): not supported; capture on an Ethernet, cooked (-i any), loopback "
             "or raw IP interface",
             name ? name : "without a name", link);
    return -ENOTSUP;
}

int explain_capture(FILE *in, struct findings *out) {
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(in, PCAP_TSTAMP_PRECISION_NANO, error);
    if (!pcap) {
        snprintf(out->stopped, NOTE_TEXT, "libpcap cannot read this capture: %s", error);
        return -EBADMSG;
    }
    int result = 0;
    bool made = false;
    if (!packet_knows(pcap_datalink(pcap)))
        result = refuse_link(out, pcap_datalink(pcap));
    struct capture c = {.out = out};
    if (result == 0) {
        made = table_make(&c.unheld, MESSAGES_UNHELD, sizeof(struct unheld_item), NULL, NULL);
        made &= order_make(&c.order, take, &c);
        made &= table_make(&c.flows, CONNECTIONS, sizeof(struct flow), finished, &c);
        result = made ? read_packets(pcap, &c) : -ENOMEM;
        out->evicted = c.flows.evicted;
        table_free(&c.flows);
    }
    if (made) {
        for (uint32_t i = 0; i < out->row_count; i++)
            find_unheld(&c, &out->rows[i]);
        if (findings_count(out, STALL_FOUND, NULL) == 0)
            reason(&c);
        notes(&c);
    }
    table_free(&c.unheld);
    order_free(&c.order);
    pcap_close(pcap); /* closes `in` as well */
    findings_sort(out);
    return result;
}
