/* SPDX-License-Identifier: MIT
 *
 * From the bytes of a captured packet to one TCP segment.  Pure: no state, reads
 * nothing beyond what was captured, and takes lengths from the IP header where the
 * snap length has cut the payload.
 */
#ifndef UNSTALL_CLI_EXPLAIN_PACKET_H
#define UNSTALL_CLI_EXPLAIN_PACKET_H

#include <stdbool.h>
#include <stdint.h>

enum { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

/* IPv4 addresses as ::ffff:a.b.c.d, so that one form does for all. */
struct endpoint {
    uint8_t address[16];
    uint16_t port;
};

struct segment {
    struct endpoint source, destination;
    uint32_t seq, ack;
    uint32_t payload; /* on the wire, not what was captured of it */
    uint32_t stamp;   /* TSval, 0 without */
    uint16_t window;  /* as in the header: not scaled */
    uint16_t ip_id;   /* 0 for IPv6 */
    uint16_t mss;     /* of a SYN; 0: none */
    int8_t scale;     /* of a SYN; -1: none */
    uint8_t flags;
    bool stamped; /* has a timestamp option: 12 bytes less for data */
};

enum packet_kind {
    PACKET_TCP,
    PACKET_OTHER,    /* neither IP nor TCP, or an empty frame */
    PACKET_FRAGMENT, /* of an IP packet: its sequence numbers are not all here */
    PACKET_CUT,      /* the snap length has cut the headers */
};

/* Does this version know the link type (DLT_… of libpcap)? */
bool packet_knows(int link_type);

/* `captured` bytes are at `data`, `length` were on the wire.  Fills `out` for
 * PACKET_TCP only. */
enum packet_kind packet_read(int link_type, const uint8_t *data, uint32_t captured, uint32_t length,
                             struct segment *out);

/* "192.0.2.1" or "[2001:db8::1]" and, if asked for, ":80".  Returns `text`. */
enum { ENDPOINT_TEXT = 64 };
const char *packet_endpoint_text(const struct endpoint *e, bool with_port,
                                 char text[ENDPOINT_TEXT]);

bool endpoint_is_loopback(const struct endpoint *e);

#endif
