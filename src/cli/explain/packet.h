/* SPDX-License-Identifier: MIT
 *
 * From the bytes of a captured packet to one TCP segment, also through VXLAN, GRE and IP in IP.
 *
 * Pure: no state, and no byte beyond the captured ones is read.  Where the snap length has cut the payload,
 * its length comes from the IP header.
 */
#ifndef UNSTALL_CLI_PACKET_H
#define UNSTALL_CLI_PACKET_H

#include <stdbool.h>
#include <stdint.h>

enum { TCP_FIN = 0x01, TCP_SYN = 0x02, TCP_RST = 0x04, TCP_ACK = 0x10 };

/* IPv4 addresses are ::ffff:a.b.c.d, so that one form serves both families. */
struct endpoint {
    uint8_t address[16];
    uint16_t port;
};

struct tcp_segment {
    struct endpoint source, destination;
    uint32_t seq, ack;
    uint32_t payload; /* bytes on the wire, also where fewer were captured */
    uint32_t stamp;   /* TSval; 0: none */
    uint16_t window;  /* as in the header, not scaled */
    uint16_t ip_id;   /* 0 for IPv6 */
    uint16_t mss;     /* of a SYN; 0: none */
    int8_t scale;     /* of a SYN; -1: none */
    bool options_cut; /* by the snap length: some are not known */
    uint8_t flags;
    bool stamped; /* a timestamp option takes 12 bytes from the data */
    const char *tunnel; /* of PACKET_TUNNEL: its name */
};

enum packet_kind {
    PACKET_TCP,
    PACKET_OTHER,    /* no IP, no TCP, or an empty frame */
    PACKET_FRAGMENT, /* of an IP packet: a part of its sequence numbers */
    PACKET_CUT,      /* the snap length has cut the headers */
    PACKET_TUNNEL,   /* encrypted, or of a kind that is not read; it may carry TCP */
};

/* True for the link types (DLT_… of libpcap) that packet_read() understands. */
bool packet_knows(int link_type);

/* `captured` bytes are at `data`; `length` bytes were on the wire.  Fills `out` for PACKET_TCP, and its name
 * of a tunnel for PACKET_TUNNEL. */
enum packet_kind packet_read(int link_type, const uint8_t *data, uint32_t captured, uint32_t length,
                             struct tcp_segment *out);

/* "192.0.2.1" or "[2001:db8::1]", with ":80" if asked for.  Writes into `text` and returns it. */
enum { ENDPOINT_TEXT = 64 };
const char *packet_endpoint_text(const struct endpoint *e, bool with_port,
                                 char text[ENDPOINT_TEXT]);

bool endpoint_is_loopback(const struct endpoint *e);

#endif
