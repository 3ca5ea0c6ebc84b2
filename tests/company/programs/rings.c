/* SPDX-License-Identifier: MIT
 *
 * A client that makes its connections by libc and reads and writes them by an io_uring
 * alone, one after another.
 *
 * ADDRESS PORT EXCHANGES CONNECTIONS HOW [PLUGIN]: HOW is `first`, `connected` (the ring is made when the
 * first connection is) or `open` (no connection is closed); PLUGIN is ring.c as a library. Its facts: the
 * times on the last connection, and TCP_NODELAY as the kernel had it at the end of each one's exchanges.
 */
#include "../../preload/programs/client.h"
#include <dlfcn.h>

static int (*make)(void), (*send_)(int, const void *, unsigned), (*receive)(int, void *, unsigned);

#ifdef PLUGIN
static void find(const char *path) {
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(plugin);
    *(void **)&make = dlsym(plugin, "ring_make");
    *(void **)&send_ = dlsym(plugin, "ring_send");
    *(void **)&receive = dlsym(plugin, "ring_receive");
}
#else
int ring_make(void);
int ring_send(int fd, const void *bytes, unsigned count);
int ring_receive(int fd, void *bytes, unsigned count);

static void find(const char *path) {
    (void)path;
    make = ring_make;
    send_ = ring_send;
    receive = ring_receive;
}
#endif

static void exchange(int fd) {
    char reply[REPLY];
    CHECK(send_(fd, message, HEADER) == HEADER);
    CHECK(send_(fd, message + HEADER, BODY) == BODY);
    for (int got = 0; got < REPLY;) {
        int n = receive(fd, reply + got, (unsigned)(REPLY - got));
        CHECK(n > 0);
        got += n;
    }
}

int main(int argc, char **argv) {
    CHECK(argc >= 6);
    client_t client = client_arguments(argc, argv);
    bool late = strcmp(argv[5], "connected") == 0, open = strcmp(argv[5], "open") == 0;
    char nodelay[64] = "";
    find(argv[6]);
    if (!late) CHECK(make() == 0);
    for (int i = 0; i < atoi(argv[4]); i++) {
        int fd = connect_to((client_t){client.address, client.port, 0, 0});
        if (late && i == 0) CHECK(make() == 0);
        run_exchanges(fd, client.count, exchange);
        sprintf(nodelay + strlen(nodelay), "%s%d", i ? ", " : "", raw_option(fd, IPPROTO_TCP, TCP_NODELAY));
        if (!open) close(fd);
    }
    ADD_FACT("\"nodelay\": [%s]", nodelay);
    return report();
}
