/* SPDX-License-Identifier: MIT
 *
 * The calls that a thread can make while it holds bytes.  Each act is one call of one
 * name of the surface table, by exactly that name.  An act file states its
 * acts with ACT; wait_while_holding.c finds them by name and runs one.
 *
 * An act blocks for about WAIT_MS by itself, or returns (or ends the process)
 * at once; where it returns, the program then sleeps out of everybody's sight,
 * so that nothing but the act can have let the bytes go.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../harness/raw.h"

#define WAIT_MS 350L

enum {
    /* a SIGALRM after WAIT_MS ends the call, which has no timeout of its own */
    ALARM = 1,
    /* the thread that holds is not the main one */
    IN_THREAD = 2,
    /* nothing is held before the act */
    UNHELD = 4,
    /* the act is the thread's return */
    RETURNS = 8,
};

struct act {
    const char *name;
    void (*prepare)(void); /* before there is a connection */
    long (*perform)(int connection);
    unsigned flags;
};

/* Name the act `id` as `title`; `call` is an expression that may use `connection`. */
#define ACT_AS(id, title, prepare_, flags_, call)                               \
    static long perform_##id(int connection) {                                  \
        (void)connection;                                                       \
        return (long)(call);                                                    \
    }                                                                           \
    static const struct act act_##id = {title, prepare_, perform_##id, flags_}; \
    static const struct act *const ref_##id __attribute__((used, section("acts"))) = &act_##id;

#define ACT(id, prepare_, flags_, call) ACT_AS(id, #id, prepare_, flags_, call)

/* Declare `alias` as the function that the linker knows by `symbol`; weak, as
 * another libc may lack it. */
#define SYMBOL(symbol) __asm__(symbol) __attribute__((weak))

/* In tools.c, all by calls that a preloaded library may see, before anything is held. */
_Noreturn void fail(const char *what);
void full_pipe(int ends[2]);       /* a pipe into which no byte more goes */
void full_pair(int ends[2]);       /* a Unix stream pair, likewise */
int scratch_file(void);            /* a nameless regular file of 16 bytes, at its start */
int full_listener(uint16_t *port); /* connecting to it blocks */
int child_for_a_while(void (*begin)(void), void (*end)(void)); /* a child that ends after WAIT_MS */

/* In tools.c: the write that is held, where the act itself makes it. */
long hold_now(int connection);

/* In tools.c, out of sight. */
void raw_sleep_ms(long ms);
void sleep_out_of_sight(void); /* for WAIT_MS */
int64_t now_ns(void);
struct timespec after_ms(clockid_t clock, long ms);
_Noreturn void raw_exit(int status);
