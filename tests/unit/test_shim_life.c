/* SPDX-License-Identifier: MIT
 *
 * Births of connections: what is known of them when they write first.
 */
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include "whole.h"

/* A write before the connection is there is the kernel's to refuse: gathered, it would
 * be accepted here, refused later, and written again. */
Test(shim_life, while_the_connect_is_under_way_nothing_is_gathered) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
    whole_start_in(MODE_COALESCE);
    shim_socket_made(5, AF_INET, SOCK_STREAM, 0);
    struct conn *c = shim_connect_begins(5);
    shim_connect_ended(c, 5, -1, EINPROGRESS, (struct sockaddr *)&to, sizeof(to));
    fake_log();
    fake_real.answers[0] = fake_real.answers[1] = -EAGAIN;
    for (int i = 0; i < 2; i++) {
        EXPECT_INT("refused", whole_write(5, "hello"), -1);
        EXPECT_INT("errno", errno, EAGAIN);
        EXPECT_TEXT("by the kernel", fake_log(), "WRITE(5,hello)");
    }
    EXPECT_INT("it is there now", whole_write(5, "hello"), 5);
    whole_read(5, 100);
    fake_log();
    EXPECT_INT("from now on it may", whole_write(5, "world"), 5);
    EXPECT_TEXT("gathered", fake.wire_buffer, "hello");
}

/* Accepted sockets inherit what their listener had at the handshake, not what it has now. */
#define ASKED "nodelay?(6) cork?(6) ulp?(6) stamps?(6) zerocopy?(6) unsent?(6) mss(6) "
static const struct {
    const char *name;
    bool cork, nodelay; /* the listener's now */
    int found_cork, found_nodelay;
    const char *log;
} inherited[] = {
    {"none", false, false, 0, 0, "WRITE(6,head) nodelay(6,1) WRITE(6,body)"},
    {"TCP_CORK, set later", true, false, 0, 0, "WRITE(6,head) " ASKED "nodelay(6,1) WRITE(6,body)"},
    {"TCP_CORK, set before", true, false, 1, 0, "WRITE(6,head) " ASKED "WRITE(6,body)"},
    {"TCP_NODELAY, set later", false, true, 0, 0,
     "WRITE(6,head) " ASKED "nodelay(6,1) WRITE(6,body)"},
    {"TCP_NODELAY, set before", false, true, 0, 1, "WRITE(6,head) " ASKED "WRITE(6,body)"},
};

Test(shim_life, an_accepted_one_is_asked_what_it_inherited) {
    EACH_ROW(row, inherited) {
        int on = 1, listener = 10 + (int)(row - inherited); /* each teaches its own alone */
        whole_start_in(MODE_AUTO);
        shim_socket_made(listener, AF_INET, SOCK_STREAM, 0);
        shim_listens(listener);
        if (row->cork)
            shim_option_set(listener, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
        if (row->nodelay)
            shim_option_set(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        fake.cork = row->found_cork;
        fake.nodelay = row->found_nodelay;
        shim_accepted(listener, 6);
        whole_read(6, 100);
        whole_write(6, "head");
        whole_write(6, "body");
        EXPECT_TEXT(row->name, fake_log(), row->log);
        shim_closing(6);
    }
}

/* UNSTALL_PORTS names the port of the server's side, whichever side is ours.  Of a
 * connection that was not born in our sight either may be it. */
enum birth { CONNECTED, ACCEPTED, INHERITED };
static const struct {
    const char *name;
    enum birth birth;
    uint16_t peer, local;
    bool included;
} filters[] = {
    {"a client of the port", CONNECTED, 80, 5000, true},
    {"a client from the port", CONNECTED, 5000, 80, false},
    {"a server's, on the port", ACCEPTED, 5000, 80, true},
    {"a server's, its client from the port", ACCEPTED, 80, 5000, false},
    {"inherited, a client of the port", INHERITED, 80, 5000, true},
    {"inherited, a server's", INHERITED, 5000, 80, true},
    {"inherited, of other ports", INHERITED, 5000, 5001, false},
};

static void born(enum birth birth) {
    if (birth == CONNECTED)
        whole_connected(6);
    if (birth != ACCEPTED)
        return; /* what is inherited is met at its first use */
    shim_socket_made(3, AF_INET, SOCK_STREAM, 0);
    shim_listens(3);
    shim_accepted(3, 6);
}

Test(shim_life, ports_are_the_servers) {
    EACH_ROW(row, filters) {
        whole_start((const char *const[]){"UNSTALL_MODE=nodelay", "UNSTALL_PORTS=80", NULL});
        fake.protocol = IPPROTO_TCP;
        fake.peer_port = row->peer;
        fake.local_port = row->local;
        fds_forget(6);
        born(row->birth);
        struct conn *c = shim_find(6);
        ASSERT(c);
        EXPECT_INT(row->name, c->policy.mode, row->included ? MODE_NODELAY : MODE_OFF);
        conn_unlock(c);
        shim_closing(6);
        shim_closing(3);
    }
}
