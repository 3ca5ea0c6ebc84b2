/* SPDX-License-Identifier: MIT */
#include "packet.h"

#include <arpa/inet.h>
#include <pcap/dlt.h>
#include <stdio.h>
#include <string.h>

/* The rest of a packet: `left` captured bytes at `at`, and `wire` bytes on the wire. */
struct view {
    const uint8_t *at;
    uint32_t left, wire;
    unsigned inside; /* so many tunnels */
};

/* More tunnels in one another are no traffic. */
enum { TUNNELS_MOST = 8 };

/* ::ffff:0:0/96 */
static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static uint16_t be16(const uint8_t *p) {
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static bool skip(struct view *v, uint32_t bytes) {
    if (bytes > v->left)
        return false;
    v->at += bytes;
    v->left -= bytes;
    v->wire -= bytes;
    return true;
}

/* ---- TCP ------------------------------------------------------------- */

enum { OPTION_END, OPTION_PAD, OPTION_MSS, OPTION_SCALE, OPTION_STAMP = 8 };

static void one_option(const uint8_t *p, uint8_t size, struct tcp_segment *out) {
    if (p[0] == OPTION_MSS && size == 4) {
        out->mss = be16(p + 2);
    } else if (p[0] == OPTION_SCALE && size == 3) {
        out->scale = (int8_t)(p[2] > 14 ? 14 : p[2]); /* RFC 7323, 2.3 */
    } else if (p[0] == OPTION_STAMP && size == 10) {
        out->stamp = be32(p + 2);
        out->stamped = true;
    }
}

static void options(const uint8_t *p, uint32_t left, struct tcp_segment *out) {
    while (left > 0 && p[0] != OPTION_END) {
        uint8_t size = 1;
        if (p[0] != OPTION_PAD) {
            if (left < 2 || p[1] < 2 || p[1] > left)
                return; /* cut or damaged: the options before it are valid */
            size = p[1];
            one_option(p, size, out);
        }
        p += size;
        left -= size;
    }
}

static enum packet_kind tcp(struct view v, struct tcp_segment *out) {
    /* The first 16 bytes end with the window; without them there is nothing to judge. */
    if (v.left < 16)
        return PACKET_CUT;
    const uint8_t *p = v.at;
    uint32_t header = (uint32_t)(p[12] >> 4) * 4;
    if (header < 20 || header > v.wire)
        return PACKET_OTHER; /* an impossible TCP header */
    out->source.port = be16(p);
    out->destination.port = be16(p + 2);
    out->seq = be32(p + 4);
    out->ack = be32(p + 8);
    out->flags = p[13];
    out->window = be16(p + 14);
    out->payload = v.wire - header;
    out->scale = -1;
    out->options_cut = v.left < header;
    out->stamped = out->options_cut && header >= 32; /* nearly all options outside of a SYN are timestamps */
    if (v.left > 20)
        options(p + 20, (v.left < header ? v.left : header) - 20, out);
    return PACKET_TCP;
}

/* ---- tunnels --------------------------------------------------------- */

enum {
    NEXT_HOP_BY_HOP = 0,
    NEXT_IP4 = 4,
    NEXT_TCP = 6,
    NEXT_UDP = 17,
    NEXT_IP6 = 41,
    NEXT_ROUTING = 43,
    NEXT_FRAGMENT = 44,
    NEXT_GRE = 47,
    NEXT_ESP = 50,
    NEXT_AUTH = 51,
    NEXT_OPTIONS = 60
};

static enum packet_kind ip(struct view v, struct tcp_segment *out);
static enum packet_kind typed(struct view v, uint16_t type, struct tcp_segment *out);
static enum packet_kind ethernet(struct view v, struct tcp_segment *out);

/* RFC 2784 and 2890.  A checksum, a key and a number take 4 bytes each. */
static enum packet_kind gre(struct view v, struct tcp_segment *out) {
    if (v.left < 4)
        return PACKET_CUT;
    uint16_t flags = be16(v.at), type = be16(v.at + 2);
    if (flags & 0x4007) {
        out->tunnel = "GRE with PPP or source routes";
        return PACKET_TUNNEL;
    }
    uint32_t size = 4 + 4u * (!!(flags & 0x8000) + !!(flags & 0x2000) + !!(flags & 0x1000));
    return skip(&v, size) ? typed(v, type, out) : PACKET_CUT;
}

/* RFC 7348.  Linux takes port 8472 unless told otherwise. */
static enum packet_kind vxlan(struct view v, struct tcp_segment *out) {
    if (v.left < 8)
        return PACKET_CUT;
    if (v.at[0] != 0x08)
        return PACKET_OTHER;
    skip(&v, 8);
    return ethernet(v, out);
}

/* What these ports carry may be TCP, but cannot be read. */
static const char *unread_tunnel(const struct view *v) {
    static const struct {
        uint16_t port;
        const char *name;
    } known[] = {{4500, "IPsec"}, {1194, "OpenVPN"}, {6081, "Geneve"}, {2152, "GTP"}, {1701, "L2TP"}};
    uint16_t source = be16(v->at), destination = be16(v->at + 2);
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (source == known[i].port || destination == known[i].port)
            return known[i].name;
    /* Its port may be any client's: its packets begin with 1 to 4 and three zeroes. */
    bool wireguard = (source == 51820 || destination == 51820) && v->left >= 12 && v->at[8] >= 1 &&
                     v->at[8] <= 4 && memcmp(v->at + 9, "\0\0", 3) == 0;
    return wireguard ? "WireGuard" : NULL;
}

static enum packet_kind udp(struct view v, struct tcp_segment *out) {
    if (v.left < 8)
        return PACKET_OTHER;
    uint16_t destination = be16(v.at + 2);
    if (destination == 4789 || destination == 8472) {
        skip(&v, 8);
        return vxlan(v, out);
    }
    out->tunnel = unread_tunnel(&v);
    return out->tunnel ? PACKET_TUNNEL : PACKET_OTHER;
}

/* ---- IP -------------------------------------------------------------- */

/* Takes the length in the IP header, which is shorter than the frame if Ethernet has padded it.  0 is no
 * length: Linux writes it for segments that the card has yet to cut (BIG TCP). */
static void trust_length(struct view *v, uint32_t told) {
    if (told != 0 && told < v->wire)
        v->wire = told;
    if (v->left > v->wire)
        v->left = v->wire;
}

/* What an IP packet carries. */
static enum packet_kind carried(struct view v, uint8_t protocol, struct tcp_segment *out) {
    if (protocol == NEXT_TCP)
        return tcp(v, out);
    if (v.inside++ == TUNNELS_MOST)
        return PACKET_OTHER;
    switch (protocol) {
    case NEXT_IP4:
    case NEXT_IP6: return ip(v, out);
    case NEXT_GRE: return gre(v, out);
    case NEXT_UDP: return udp(v, out);
    case NEXT_ESP: out->tunnel = "IPsec"; return PACKET_TUNNEL;
    default: return PACKET_OTHER;
    }
}

static bool may_carry_tcp(uint8_t protocol) {
    return protocol == NEXT_TCP || protocol == NEXT_IP4 || protocol == NEXT_IP6 || protocol == NEXT_GRE;
}

static enum packet_kind ip4(struct view v, struct tcp_segment *out) {
    if (v.left < 20)
        return PACKET_CUT;
    const uint8_t *p = v.at;
    uint32_t header = (uint32_t)(p[0] & 15) * 4;
    if (p[0] >> 4 != 4 || header < 20)
        return PACKET_OTHER;
    trust_length(&v, be16(p + 2));
    if (be16(p + 6) & 0x3fff)
        return may_carry_tcp(p[9]) ? PACKET_FRAGMENT : PACKET_OTHER;
    out->ip_id = be16(p + 4);
    memcpy(out->source.address, mapped, sizeof(mapped));
    memcpy(out->source.address + 12, p + 12, 4);
    memcpy(out->destination.address, mapped, sizeof(mapped));
    memcpy(out->destination.address + 12, p + 16, 4);
    return skip(&v, header) ? carried(v, p[9], out) : PACKET_CUT;
}

/* The size of an extension header; 0: it is none, or the rest is not to be read. */
static uint32_t extension_size(uint8_t next, const uint8_t *at) {
    switch (next) {
    case NEXT_HOP_BY_HOP:
    case NEXT_ROUTING:
    case NEXT_OPTIONS: return (at[1] + 1u) * 8;
    case NEXT_AUTH: return (at[1] + 2u) * 4;
    case NEXT_FRAGMENT: return be16(at + 2) & 0xfff9 ? 0 : 8; /* RFC 6946: an atomic one is the whole */
    default: return 0;
    }
}

static bool is_extension(uint8_t next) {
    return next == NEXT_HOP_BY_HOP || next == NEXT_ROUTING || next == NEXT_FRAGMENT || next == NEXT_AUTH ||
           next == NEXT_OPTIONS;
}

static enum packet_kind ip6(struct view v, struct tcp_segment *out) {
    if (v.left < 40)
        return PACKET_CUT;
    const uint8_t *p = v.at;
    if (p[0] >> 4 != 6)
        return PACKET_OTHER;
    uint32_t told = be16(p + 4);
    trust_length(&v, told ? told + 40 : 0);
    out->ip_id = 0;
    memcpy(out->source.address, p + 8, 16);
    memcpy(out->destination.address, p + 24, 16);
    uint8_t next = p[6];
    skip(&v, 40);
    /* RFC 8200, 4.1: at most one of each, and two of the options. */
    for (int headers = 0; headers < 8 && is_extension(next); headers++) {
        if (v.left < 8)
            return PACKET_CUT;
        uint32_t size = extension_size(next, v.at);
        next = v.at[0];
        if (size == 0)
            return may_carry_tcp(next) ? PACKET_FRAGMENT : PACKET_OTHER;
        if (!skip(&v, size))
            return PACKET_CUT;
    }
    return carried(v, next, out);
}

static enum packet_kind ip(struct view v, struct tcp_segment *out) {
    if (v.left < 1)
        return PACKET_CUT;
    return v.at[0] >> 4 == 6 ? ip6(v, out) : ip4(v, out);
}

/* ---- link types ------------------------------------------------------ */

/* IEEE 802.2 with SNAP: an Ethernet type after 6 bytes and 00-00-00.  The frame has its length where others
 * have their type. */
static enum packet_kind snap(struct view v, struct tcp_segment *out) {
    if (v.left < 8)
        return v.left < v.wire ? PACKET_CUT : PACKET_OTHER;
    if (memcmp(v.at, "\xaa\xaa\x03\0\0\0", 6) != 0 || v.inside++ >= TUNNELS_MOST)
        return PACKET_OTHER;
    uint16_t type = be16(v.at + 6);
    skip(&v, 8);
    return type >= 0x0600 ? typed(v, type, out) : PACKET_OTHER;
}

/* The packet after an Ethernet type, through VLAN tags (IEEE 802.1Q, 802.1ad), MPLS labels and PPPoE.  A
 * smaller number is a length; a cooked capture has 4 there. */
static enum packet_kind typed(struct view v, uint16_t type, struct tcp_segment *out) {
    for (int tags = 0; tags < 8; tags++) {
        if (type < 0x0600)
            return snap(v, out);
        switch (type) {
        case 0x0800:
        case 0x86dd: return ip(v, out);
        case 0x8100:
        case 0x88a8:
        case 0x9100:
            if (v.left < 4)
                return PACKET_CUT;
            type = be16(v.at + 2);
            skip(&v, 4);
            break;
        case 0x8847:
            if (v.left < 4)
                return PACKET_CUT;
            type = v.at[2] & 1 ? 0x0800 : 0x8847; /* the last label has its bottom bit set */
            skip(&v, 4);
            break;
        case 0x8864:
            if (v.left < 8)
                return PACKET_CUT;
            if (be16(v.at + 6) != 0x0021 && be16(v.at + 6) != 0x0057)
                return PACKET_OTHER;
            skip(&v, 8);
            return ip(v, out);
        case 0x6558: return v.inside++ < TUNNELS_MOST ? ethernet(v, out) : PACKET_OTHER;
        default: return PACKET_OTHER;
        }
    }
    return PACKET_OTHER;
}

/* The packet after a header of `size` bytes with an Ethernet type at `type_at`. */
static enum packet_kind framed(struct view v, uint32_t size, uint32_t type_at,
                               struct tcp_segment *out) {
    if (v.left < size)
        return PACKET_CUT;
    uint16_t type = be16(v.at + type_at);
    skip(&v, size);
    return typed(v, type, out);
}

static enum packet_kind ethernet(struct view v, struct tcp_segment *out) {
    return framed(v, 14, 12, out);
}

/* BSD's loopback: a word with the address family in the byte order of the capturing machine.  It is
 * skipped: the first half byte of the IP header tells the family. */
static enum packet_kind loopback(struct view v, struct tcp_segment *out) {
    return skip(&v, 4) ? ip(v, out) : PACKET_CUT;
}

enum packet_kind packet_read(int link_type, const uint8_t *data, uint32_t captured, uint32_t length,
                             struct tcp_segment *out) {
    memset(out, 0, sizeof(*out));
    if (length < captured)
        length = captured; /* damaged: at least the captured bytes were on the wire */
    struct view v = {.at = data, .left = captured, .wire = length};
    switch (link_type) {
    case DLT_EN10MB: return ethernet(v, out);
    case DLT_LINUX_SLL: return framed(v, 16, 14, out);
    case DLT_LINUX_SLL2: return framed(v, 20, 0, out);
    case DLT_NULL:
    case DLT_LOOP: return loopback(v, out);
    case DLT_RAW:
    case DLT_IPV4:
    case DLT_IPV6: return ip(v, out);
    default: return PACKET_OTHER;
    }
}

/* Of a link that it knows, nothing is a packet that was cut. */
bool packet_knows(int link_type) {
    struct tcp_segment none;
    return packet_read(link_type, NULL, 0, 0, &none) == PACKET_CUT;
}

/* ---- names ----------------------------------------------------------- */

static bool is_ip4(const struct endpoint *e) {
    return memcmp(e->address, mapped, sizeof(mapped)) == 0;
}

const char *packet_endpoint_text(const struct endpoint *e, bool with_port,
                                 char text[ENDPOINT_TEXT]) {
    char address[INET6_ADDRSTRLEN] = "?", port[8] = "";
    bool four = is_ip4(e);
    inet_ntop(four ? AF_INET : AF_INET6, e->address + (four ? 12 : 0), address, sizeof(address));
    if (with_port)
        snprintf(port, sizeof(port), ":%u", e->port);
    snprintf(text, ENDPOINT_TEXT, four || !with_port ? "%s%s" : "[%s]%s", address, port);
    return text;
}

bool endpoint_is_loopback(const struct endpoint *e) {
    static const uint8_t one[16] = {[15] = 1};
    return is_ip4(e) ? e->address[12] == 127 : memcmp(e->address, one, 16) == 0;
}
