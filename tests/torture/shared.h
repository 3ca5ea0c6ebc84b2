/* SPDX-License-Identifier: MIT
 *
 * Shared by the tortured program and the peer that checks it: the seed, and from it the bytes of every stream
 * and the habits of every connection; and one page of memory on which the program notes the
 * results of its calls.
 *
 * A connection ("link") carries, from the program to the peer, bytes that are a
 * pure function of (seed, link, offset), the first eight being the link's number;
 * the peer answers `reply` bytes for each `every` bytes that have arrived.  So each side knows at any moment
 * which bytes the other one must have.
 */
#ifndef TORTURE_SHARED_H
#define TORTURE_SHARED_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LINKS = 2048,        /* in one program */
    RECORDS = 2048,      /* writes of a link that is judged for lateness */
    TRACES = 16384,      /* the last operations, to find a fault by */
    NAME_BYTES = 8,      /* the link's number in decimal, at the head of its stream */
    LARGEST = 200 * 1024,
    PERIOD = 1000003,    /* of the streams; a prime */
};

enum ending {
    OPEN,
    CLEAN,  /* every byte of a finished write arrives */
    BROKEN, /* ended in a way that resets: a prefix arrives */
};

/* A write returned: the stream's length then, and when. */
struct record {
    uint64_t end;
    uint64_t when; /* ns, CLOCK_MONOTONIC; 0: the program itself kept it back (MSG_MORE, TCP_CORK) */
};

struct link {
    uint32_t ending;   /* enum ending; set before the descriptor closes */
    uint32_t records;
    uint64_t sent;     /* bytes that the program's calls returned as accepted */
    uint64_t got;      /* bytes of the peer's replies that were read */
    uint64_t claimed;  /* a fault: more bytes that it says were accepted */
    uint64_t unsure;   /* more bytes that may have been accepted: cancelled inside a write */
    uint32_t number;
    int fd;
    bool nonblocking, cork, nodelay, more, small_buffers;
    struct record record[RECORDS];
};

struct trace {
    uint64_t when;
    uint32_t link;
    uint16_t actor;
    uint16_t sequence;
    char what[40];
};

struct shared {
    uint64_t seed;
    uint32_t links;
    uint32_t operations;
    uint32_t violations;
    uint32_t traces;
    struct link link[LINKS];
    struct trace trace[TRACES];
};

/* The habits of a link. */
struct habits {
    uint32_t every, reply;
    bool slow; /* the peer reads little at a time, both buffers are small */
};

/* splitmix64 (Vigna 2015): the next number of a generator. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 … limit-1 */
static inline uint32_t random_below(uint64_t *state, uint32_t limit) {
    return (uint32_t)((random_next(state) >> 32) * limit >> 32);
}

void streams_init(uint64_t seed);
/* The bytes of a stream from `offset` on, LARGEST of them. */
const char *stream_at(uint32_t link, uint64_t offset);
/* All streams are cut from one table: its bytes, and where a stream's lie in it. */
const char *streams_table(size_t *bytes);
size_t stream_place(uint32_t link, uint64_t offset);
/* ... of the replies. */
const char *reply_at(uint32_t link, uint64_t offset);
/* The eight bytes at a stream's head. */
void stream_name(uint32_t link, char name[NAME_BYTES]);
struct habits habits_of(uint32_t link);
/* How much the peer has answered once `received` bytes have arrived. */
uint64_t reply_total(const struct habits *habits, uint64_t received);

uint64_t now_ns(void);

/* The page of memory, a file that the driver makes. */
struct shared *shared_map(const char *path);

#endif
