/* SPDX-License-Identifier: MIT
 *
 * The writer that torture-kill ends at a random moment.  It writes its stream in
 * pieces and notes each returned write.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "kill.h"

static struct page *page;
static uint64_t randomness, length, got;
static int stream;

static uint32_t below(uint32_t limit) {
    return random_below(&randomness, limit);
}

static void put(size_t bytes) {
    const char *content = stream_at(WRITER_LINK, length);
    struct iovec parts[2] = {{(void *)(uintptr_t)content, bytes / 2},
                             {(void *)(uintptr_t)(content + bytes / 2), bytes - bytes / 2}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n;
    __atomic_store_n(&page->attempted, length + bytes, __ATOMIC_RELEASE);
    switch (below(4)) {
    case 0:
        n = write(stream, content, bytes);
        break;
    case 1:
        n = send(stream, content, bytes, 0);
        break;
    case 2:
        n = writev(stream, parts, 2);
        break;
    default:
        n = sendmsg(stream, &message, 0);
        break;
    }
    if (n != (ssize_t)bytes)
        _exit(3);
    length += bytes;
    __atomic_store_n(&page->returned, length, __ATOMIC_RELEASE);
}

/* ---- messages -------------------------------------------------------- */

static void read_answers(void) {
    static char buffer[65536];
    while (answer_total(length) > got) {
        ssize_t n = recv(stream, buffer, sizeof(buffer), 0);
        if (n <= 0)
            _exit(5);
        got += (uint64_t)n;
    }
}

/* Compute on: held bytes stay held. */
static void compute(uint32_t us) {
    uint64_t until = now_ns() + us * UINT64_C(1000);
    while (now_ns() < until)
        ;
}

static void turn_begins(void) {
    __atomic_store_n(&page->turn_began, length, __ATOMIC_RELEASE);
}

static void message(void) {
    for (int pieces = 1 + (int)below(4); pieces > 0; pieces--) {
        put(1 + below(below(4) ? 200 : 1500));
        compute(below(300));
    }
    if (!page->pending && below(6) == 0)
        put(1 + below(60000));
    struct timespec moment = {.tv_nsec = (long)below(500) * 1000};
    struct pollfd ready = {.fd = stream, .events = POLLIN};
    switch (below(4)) {
    case 0:
        nanosleep(&moment, NULL);
        turn_begins();
        break;
    case 1:
        if (poll(&ready, 1, 1) == 0)
            turn_begins();
        break;
    default:
        break;
    }
    if (!page->pending)
        read_answers();
}

static void warm_up(void) {
    struct habits habits = habits_of(WRITER_LINK);
    while (got < answer_total(UINT64_MAX)) {
        put(habits.every / 3);
        put(habits.every - habits.every / 3);
        read_answers();
    }
}

/* The only thread that writes: coalesce buffers no connection that two write to. */
static void *write_for_ever(void *unused) {
    (void)unused;
    if (!page->pending)
        warm_up();
    turn_begins();
    __atomic_store_n(&page->ready, 1, __ATOMIC_RELEASE);
    for (;;)
        message();
    return NULL;
}

static void end_somehow(void) {
    while (!__atomic_load_n(&page->stop, __ATOMIC_ACQUIRE))
        usleep(100);
    if (page->execs)
        execl("/bin/true", "true", (char *)NULL);
    switch (page->seed % 4) {
    case 0:
        _exit(0);
    case 1:
        quick_exit(0);
    default:
        exit(0);
    }
}

int main(void) {
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, FD_PAGE, 0);
    if (page == MAP_FAILED)
        return 2;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)page->port)};
    char byte;
    randomness = page->seed;
    streams_init(page->seed);
    stream = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(stream, (struct sockaddr *)&address, sizeof(address)) != 0)
        return 2;
    if (page->pending && recv(stream, &byte, 1, 0) != 1)
        return 2;
    page->stream = (uint32_t)stream;
    if (page->threads) {
        pthread_t thread;
        pthread_create(&thread, NULL, write_for_ever, NULL);
        end_somehow();
    }
    write_for_ever(NULL);
    return 0;
}
