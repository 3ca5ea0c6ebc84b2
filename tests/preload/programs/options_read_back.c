/* SPDX-License-Identifier: MIT
 *
 * Sets TCP_NODELAY and TCP_CORK in every way, writes in bursts in between, and prints the values that it
 * reads back: the lines must equal a bare run's.
 */
#include "client.h"

static int fd, copy, exchanges;

static void show(const char *when, int descriptor, int name, socklen_t length)
{
    unsigned char value[8];
    memset(value, 0xEE, sizeof value);
    errno = 0;
    int result = getsockopt(descriptor, IPPROTO_TCP, name, value, &length);
    printf("%s %s: %d %s length %u value", when, name == TCP_NODELAY ? "NODELAY" : "CORK", result,
           result ? strerror(errno) : "ok", (unsigned)length);
    for (size_t i = 0; i < sizeof value; i++) printf(" %02x", value[i]);
    printf("\n");
}

static void show_all(const char *when)
{
    static const int names[] = {TCP_NODELAY, TCP_CORK};
    static const socklen_t lengths[] = {4, 8, 3, 1, 0, (socklen_t)-1};
    for (int n = 0; n < 2; n++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            show(when, fd, names[n], lengths[l]);
            show(when, copy, names[n], lengths[l]);
        }
}

static void burst(int count)
{
    for (int i = 0; i < count; i++) {
        next_message(exchanges++);
        CHECK(write(fd, message, HEADER) == HEADER);
        CHECK(write(copy, message + HEADER, BODY) == BODY);
        read_reply(fd);
    }
}

static void set(const char *what, int descriptor, int name, const void *value, socklen_t length)
{
    errno = 0;
    int result = setsockopt(descriptor, IPPROTO_TCP, name, value, length);
    printf("%s: %d %s\n", what, result, result ? strerror(errno) : "ok");
    show_all(what);
}

int main(int argc, char **argv)
{
    static const int zero, one = 1, two = 2, minus = -1;
    static const long wide = 1;
    fd = connect_to(client_arguments(argc, argv));
    CHECK((copy = dup(fd)) >= 0);
    show_all("made");
    burst(3);
    show_all("after a burst");
    set("nodelay 1", fd, TCP_NODELAY, &one, sizeof one);
    burst(2);
    show_all("nodelay 1, burst");
    set("nodelay 0", copy, TCP_NODELAY, &zero, sizeof zero);
    burst(2);
    show_all("nodelay 0, burst");
    set("nodelay 2", fd, TCP_NODELAY, &two, sizeof two);
    set("nodelay too short", fd, TCP_NODELAY, &zero, 3);
    set("nodelay nowhere", fd, TCP_NODELAY, NULL, sizeof zero);
    set("nodelay by a long", fd, TCP_NODELAY, &wide, sizeof wide);
    set("nodelay -1", fd, TCP_NODELAY, &minus, sizeof minus);
    set("nodelay 0", fd, TCP_NODELAY, &zero, sizeof zero);
    set("cork 1", fd, TCP_CORK, &one, sizeof one);
    set("cork and nodelay", copy, TCP_NODELAY, &one, sizeof one);
    set("cork 0", copy, TCP_CORK, &zero, sizeof zero);
    set("nodelay 0", copy, TCP_NODELAY, &zero, sizeof zero);
    set("cork too short", fd, TCP_CORK, &one, 1);
    burst(2);
    show_all("end");
    close(copy);
    errno = 0;
    show("closed", copy, TCP_NODELAY, sizeof one);
    close(fd);
    return report();
}
