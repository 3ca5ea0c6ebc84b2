/* SPDX-License-Identifier: MIT
 *
 * Load for `server`: many connections, each with one request under way.  Never
 * under the library.
 *
 * Usage: load HOST PORT CONNECTIONS WARM_UP CHUNKS PER_CHUNK
 *
 * WARM_UP exchanges, on all connections together, are not counted.
 *
 * Prints one JSON object: the median, over the chunks, of the time of an
 * exchange, and the data segments that came for one.
 */
#include "common.h"

enum { REQUEST = 100, ANSWER = 500, EVENTS = 64, MOST_CHUNKS = 4096, HELD_OPEN = 16384 };

static struct {
    int fd;
    unsigned have;
} links[HELD_OPEN];
static int count, epoll;

static void ask(int i) {
    static char request[REQUEST];
    if (send(links[i].fd, request, REQUEST, 0) != REQUEST)
        die("send");
    links[i].have = 0;
}

static void open_all(struct sockaddr_in *address) {
    epoll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        links[i].fd = socket(AF_INET, SOCK_STREAM, 0);
        if (links[i].fd < 0 ||
            connect(links[i].fd, (struct sockaddr *)address, sizeof(*address)) != 0)
            die("connect");
        set_option(links[i].fd, TCP_NODELAY, 1);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, links[i].fd, &event) != 0)
            die("epoll_ctl");
    }
}

/* Wait for some answers, ask again for each; how many came. */
static int some(void) {
    static char in[4096];
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(epoll, events, EVENTS, -1), answered = 0;
    for (int e = 0; e < ready; e++) {
        int i = (int)events[e].data.u32;
        ssize_t got = recv(links[i].fd, in, sizeof(in), 0);
        if (got <= 0)
            die("recv");
        links[i].have += (unsigned)got;
        if (links[i].have < ANSWER)
            continue;
        answered++;
        ask(i);
    }
    return answered;
}

static void exchanges(int wanted) {
    for (int done = 0; done < wanted;)
        done += some();
}

static double segments(void) {
    double all = 0;
    for (int i = 0; i < count; i++)
        all += info_of(links[i].fd).tcpi_data_segs_in;
    return all;
}

int main(int argc, char **argv) {
    static double times[MOST_CHUNKS];
    if (argc != 7) {
        fprintf(stderr, "usage: load HOST PORT CONNECTIONS WARM_UP CHUNKS PER_CHUNK\n");
        return 2;
    }
    struct sockaddr_in address = address_of(argv[1], atoi(argv[2]));
    count = atoi(argv[3]);
    int warm_up = atoi(argv[4]), chunks = atoi(argv[5]), per_chunk = atoi(argv[6]);
    if (count < 1 || count > HELD_OPEN || chunks < 1 || chunks > MOST_CHUNKS || per_chunk < 1)
        return 2;
    many_descriptors();
    open_all(&address);
    for (int i = 0; i < count; i++)
        ask(i);
    exchanges(warm_up);
    double before = segments(), done = 0;
    for (int i = 0; i < chunks; i++) {
        double began = now_ns();
        exchanges(per_chunk);
        times[i] = (now_ns() - began) / per_chunk;
        done += per_chunk;
    }
    printf("{\"ns\": %.1f, \"segments\": %.4f}\n", median(times, chunks),
           (segments() - before) / done);
    return 0;
}
