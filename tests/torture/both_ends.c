/* SPDX-License-Identifier: MIT */
#include "both_ends.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Behind the window begin the fields of Linux 6.2 and 6.7, which older headers lack and newer ones name. */
union info {
    struct tcp_info known;
    struct {
        unsigned char older[offsetof(struct tcp_info, tcpi_snd_wnd) + sizeof(uint32_t)];
        uint32_t rcv_wnd, rehash;
        uint16_t total_rto, total_rto_recoveries;
        uint32_t total_rto_time;
    };
};

static int in_words(char *text, size_t room, const char *name, const union info *i) {
    const struct tcp_info *k = &i->known;
    return snprintf(
        text, room,
        "%s: state %u/%u, retransmits %u, sent again %u, timeouts %u (%u ms), probes %u, backoff %u, "
        "rto %u ms, ato %u ms, rtt %u us, unacked %u, not sent %u, window %u, segments %u, "
        "ms since data left %u, came %u, since an acknowledgement came %u, window limited %llu us",
        name, k->tcpi_state, k->tcpi_ca_state, k->tcpi_retransmits, k->tcpi_total_retrans, i->total_rto,
        i->total_rto_time, k->tcpi_probes, k->tcpi_backoff, k->tcpi_rto / 1000, k->tcpi_ato / 1000,
        k->tcpi_rtt, k->tcpi_unacked, k->tcpi_notsent_bytes, k->tcpi_snd_wnd, k->tcpi_data_segs_out,
        k->tcpi_last_data_sent, k->tcpi_last_data_recv, k->tcpi_last_ack_recv,
        (unsigned long long)k->tcpi_rwnd_limited);
}

/* Exactly the one socket with our `far` as its local end and our `near` as its far end. */
static bool ask(int netlink, const struct sockaddr_in *near, const struct sockaddr_in *far) {
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 request;
    } ask = {
        .head = {sizeof(ask), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0},
        .request = {.sdiag_family = AF_INET,
                    .sdiag_protocol = IPPROTO_TCP,
                    .idiag_ext = 1 << (INET_DIAG_INFO - 1),
                    .idiag_states = ~0U,
                    .id = {.idiag_sport = far->sin_port,
                           .idiag_dport = near->sin_port,
                           .idiag_src = {far->sin_addr.s_addr},
                           .idiag_dst = {near->sin_addr.s_addr},
                           .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
    };
    return send(netlink, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask);
}

/* The answer is one message: a head, the socket, and attributes. */
static bool answered(int netlink, union info *far, struct inet_diag_msg *socket) {
    _Alignas(struct nlmsghdr) char answer[4096];
    ssize_t n = recv(netlink, answer, sizeof(answer), MSG_DONTWAIT);
    struct nlmsghdr *head = (struct nlmsghdr *)answer;
    if (n < 0 || !NLMSG_OK(head, n) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(socket, NLMSG_DATA(head), sizeof(*socket));
    int left = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*socket)));
    struct rtattr *attribute = (struct rtattr *)(answer + NLMSG_LENGTH(sizeof(*socket)));
    for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
        if (attribute->rta_type == INET_DIAG_INFO) {
            size_t bytes = RTA_PAYLOAD(attribute);
            memcpy(far, RTA_DATA(attribute), bytes < sizeof(*far) ? bytes : sizeof(*far));
            return true;
        }
    return false;
}

/* The other process's end, behind `used` bytes of the text. */
static void words_of_the_other(int fd, char *text, int used) {
    union info theirs = {0};
    struct inet_diag_msg theirs_too;
    struct sockaddr_in near = {0}, far = {0};
    socklen_t length = sizeof(near);
    if (getsockname(fd, (struct sockaddr *)&near, &length) != 0 ||
        getpeername(fd, (struct sockaddr *)&far, &length) != 0)
        return;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0)
        return;
    if (ask(netlink, &near, &far) && answered(netlink, &theirs, &theirs_too)) {
        used += snprintf(text + used, BOTH_ENDS - (size_t)used, "; queues %u in %u out, timer %u; ",
                         theirs_too.idiag_rqueue, theirs_too.idiag_wqueue, theirs_too.idiag_timer);
        if (used < BOTH_ENDS)
            in_words(text + used, BOTH_ENDS - (size_t)used, "writer", &theirs);
    }
    close(netlink);
}

unsigned both_ends(int fd, char *text) {
    union info ours = {0};
    socklen_t length = sizeof(ours);
    text[0] = '\0';
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ours, &length) != 0)
        return 0;
    int used = in_words(text, BOTH_ENDS, "reader", &ours);
    if (used < BOTH_ENDS)
        words_of_the_other(fd, text, used);
    return ours.known.tcpi_last_data_recv;
}
