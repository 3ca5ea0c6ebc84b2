/* SPDX-License-Identifier: MIT
 *
 * A source of stalls: sampled.c and exact.c each define one.
 */
#ifndef UNSTALL_SCAN_SOURCE_H
#define UNSTALL_SCAN_SOURCE_H

#include <signal.h>

#include "places.h"

enum { SCAN_ERROR = 256 };

struct scan_options {
    uint16_t port;      /* only connections with this port at one end; 0: all */
    pid_t namespace_of; /* scan the network namespace of this process; 0: our own */
    bool places;        /* keep calls for places() */
    pid_t places_of;    /* first of all of this process; 0: of none (survey_begin() sets it) */
    bool no_peers;      /* do not look for the other ends */
    int verbose;
};

struct scan_source {
    /* NULL, with the reason in `error`, where this source cannot be used here. */
    void *(*begin)(const struct scan_options *o, char error[SCAN_ERROR]);
    /* Look until `until_ns` (CLOCK_MONOTONIC), or until *stop is set.  0 or -errno. */
    int (*run)(void *source, uint64_t until_ns, const volatile sig_atomic_t *stop);
    /* The findings so far; the caller calls scan_result_free().  0 or -errno. */
    int (*collect)(void *source, struct scan_result *r);
    /* The code that writes the pieces, in the processes of these rows; it belongs to the source.
     * The member is NULL, or it returns NULL: this source does not know it. */
    const struct stats_files *(*places)(void *source, const struct scan_table *t);
    /* Drops these connections: a new stall on one of them counts from 0.  It also drops connections
     * without anything to report that are not watched any more. */
    void (*forget)(void *source, const struct scan_key *keys, size_t count);
    void (*end)(void *source);
};

extern const struct scan_source scan_sampled, scan_exact;

const char *scan_kind_name(enum scan_kind kind); /* "exact" */

/* Begins the source with this name.  name == NULL: begins `exact`, or `sampled` if that fails, with the
 * reason in not_exact.  Returns the source's state, or NULL with the reason in `error`. */
void *scan_source_begin(const char *name, const struct scan_options *o,
                        const struct scan_source **source, char not_exact[SCAN_ERROR],
                        char error[SCAN_ERROR]);

uint64_t scan_now(void); /* CLOCK_MONOTONIC */
void scan_sleep_until(uint64_t due_ns);

/* The processor time that this process has used, the search for processes included, and its share of
 * a core. */
uint64_t scan_own_time(void);
double scan_own_share(uint64_t began_ns, uint64_t now_ns);
void scan_result_free(struct scan_result *r);

#endif
