/* SPDX-License-Identifier: MIT
 *
 * Load for `server`: many connections, each with DEPTH requests under way (1 unless given), which are sent
 * together when all answers have come.  Never under the library.
 *
 * Usage: load HOST PORT CONNECTIONS WARM_UP CHUNKS PER_CHUNK [DEPTH [http]]
 *
 * http: the server speaks HTTP with keep-alive, and its answers to GET / all have the same length.
 * WARM_UP exchanges, on all connections together, are not counted; an exchange is DEPTH requests and their
 * answers.
 *
 * Prints one JSON object: the median, over the chunks, of the time of an exchange, the data segments that
 * came for one, and the 99th percentile of the time from its requests to its last answer.  Further, for an
 * exchange, the packets of both directions and our own CPU time; and how many there were with WARM_UP's.
 */
#include "common.h"

enum { ANSWER = 500, LONGEST = 1024, EVENTS = 64, MOST_CHUNKS = 4096, HELD_OPEN = 16384 };
enum { DEPTH = 64, WAITS = 1 << 18 };

static struct {
    int fd;
    unsigned have;
    double asked;
} links[HELD_OPEN];
static int count, epoll, depth = 1;
static char request[REQUEST + 1]; /* zeros for `server` */
static unsigned request_bytes = REQUEST, answer_bytes = ANSWER;
static double waits[WAITS]; /* from the requests to the last answer */
static int waited;

static void ask(int i) {
    static char requests[DEPTH * REQUEST];
    size_t bytes = (size_t)depth * request_bytes;
    for (int n = 0; n < depth; n++)
        memcpy(requests + (size_t)n * request_bytes, request, request_bytes);
    links[i].asked = now_ns();
    if (send(links[i].fd, requests, bytes, 0) != (ssize_t)bytes)
        die("send");
    links[i].have = 0;
}

/* One request on a connection of its own tells the length of an answer: head, and Content-Length bytes. */
static void learn_http(struct sockaddr_in *address) {
    char in[LONGEST + 1];
    size_t have = 0, length = 0;
    int fd = connected_to(address);
    strcpy(request, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    request_bytes = (unsigned)strlen(request);
    if (send(fd, request, request_bytes, 0) < 0)
        die("http");
    while (length == 0 || have < length) {
        ssize_t got = have < LONGEST ? recv(fd, in + have, LONGEST - have, 0) : -1;
        if (got <= 0)
            die("http answer");
        in[have += (size_t)got] = '\0';
        const char *body = strstr(in, "\r\n\r\n"), *told = strcasestr(in, "\r\nContent-Length:");
        if (body && told)
            length = (size_t)(body + 4 - in) + strtoul(told + 17, NULL, 10);
    }
    answer_bytes = (unsigned)have;
    close(fd);
}

static void open_all(struct sockaddr_in *address) {
    epoll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)i};
        links[i].fd = connected_to(address);
        set_option(links[i].fd, TCP_NODELAY, 1);
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, links[i].fd, &event) != 0)
            die("epoll_ctl");
    }
}

/* Wait for some answers, ask again for each; how many came. */
static int some(void) {
    static char in[DEPTH * LONGEST];
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(epoll, events, EVENTS, -1), answered = 0;
    for (int e = 0; e < ready; e++) {
        int i = (int)events[e].data.u32;
        ssize_t got = recv(links[i].fd, in, sizeof(in), 0);
        if (got <= 0)
            die("recv");
        links[i].have += (unsigned)got;
        if (links[i].have < (unsigned)depth * answer_bytes)
            continue;
        if (waited < WAITS)
            waits[waited++] = now_ns() - links[i].asked;
        answered++;
        ask(i);
    }
    return answered;
}

static void exchanges(int wanted) {
    for (int done = 0; done < wanted;)
        done += some();
}

struct sums {
    double segments, packets, cpu_ns;
};

static double ns_of(struct timeval t) {
    return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

static struct sums sums(void) {
    struct sums all = {0};
    struct rusage used;
    for (int i = 0; i < count; i++) {
        struct tcp_info info = info_of(links[i].fd);
        all.segments += info.tcpi_data_segs_in;
        all.packets += info.tcpi_segs_in + info.tcpi_segs_out;
    }
    getrusage(RUSAGE_SELF, &used);
    all.cpu_ns = ns_of(used.ru_utime) + ns_of(used.ru_stime);
    return all;
}

int main(int argc, char **argv) {
    static double times[MOST_CHUNKS];
    if (argc < 7 || argc > 9) {
        fprintf(stderr, "usage: load HOST PORT CONNECTIONS WARM_UP CHUNKS PER_CHUNK [DEPTH [http]]\n");
        return 2;
    }
    struct sockaddr_in address = address_of(argv[1], atoi(argv[2]));
    count = atoi(argv[3]);
    int warm_up = atoi(argv[4]), chunks = atoi(argv[5]), per_chunk = atoi(argv[6]);
    depth = argc >= 8 ? atoi(argv[7]) : 1;
    if (depth < 1 || depth > DEPTH || count < 1 || count > HELD_OPEN || chunks < 1 ||
        chunks > MOST_CHUNKS || per_chunk < 1)
        return 2;
    many_descriptors();
    if (argc == 9 && strcmp(argv[8], "http") == 0)
        learn_http(&address);
    open_all(&address);
    for (int i = 0; i < count; i++)
        ask(i);
    exchanges(warm_up);
    struct sums before = sums();
    double done = 0;
    waited = 0;
    for (int i = 0; i < chunks; i++) {
        double began = now_ns();
        exchanges(per_chunk);
        times[i] = (now_ns() - began) / per_chunk;
        done += per_chunk;
    }
    struct sums after = sums();
    qsort(waits, (size_t)waited, sizeof(*waits), by_value);
    printf("{\"ns\": %.1f, \"segments\": %.4f, \"p99 ns\": %.0f, ", median(times, chunks),
           (after.segments - before.segments) / done, waited ? waits[(int)(0.99 * (waited - 1))] : 0);
    printf("\"packets\": %.4f, \"cpu ns\": %.0f, \"all exchanges\": %.0f}\n",
           (after.packets - before.packets) / done, (after.cpu_ns - before.cpu_ns) / done, done + warm_up);
    return 0;
}
