/* SPDX-License-Identifier: MIT
 *
 * Environment -> an immutable configuration.
 *
 * Ownership: a snapshot is never changed once published; readers follow one atomic pointer.  Snapshots come
 * from a ring of CONFIG_SNAPSHOTS, so that a reader may lag that many switches behind.  Strings point into a
 * copy of the environment made at start.
 *
 * A bad value costs one line of warning and leaves the default; it never ends the host.  In a setuid program
 * the environment is ignored (secure_getenv(3)).
 */
#ifndef UNSTALL_CONFIG_H
#define UNSTALL_CONFIG_H

#include "control.h"
#include "log.h"
#include "policy.h"
#include "stalls.h"

/* ---- the arms of an experiment ------------------------------------------
 *
 * The mode that each connection gets.  Pure.
 *
 * An assignment is a function of the seed and of the connection's key, so that
 * the same seed gives the same assignment again.
 */

struct arms { /* compared as bytes: what is beyond `count` is 0 */
    uint32_t count;      /* 0: no experiment */
    uint32_t assignment; /* enum stats_assignment */
    uint64_t seed;
    uint8_t mode[STATS_ARMS]; /* enum mode */
    uint8_t unused[2];
    uint32_t weight[STATS_ARMS];
};

/* Parses "off:50,auto:50".  False: another form, or more than STATS_ARMS arms. */
bool arms_parse(struct arms *arms, const char *text);

/* ---- the configuration -------------------------------------------------- */

enum {
    WINDOW_DEFAULT_US = 1000,
    SMALL_MAX = 65536,
    SMALL_DEFAULT = 4096,
    CONFIG_FILTERS = 32,
};

/* Use of a thread of ours that keeps the window (UNSTALL_THREAD). */
enum thread_use { THREAD_OWN, THREAD_ALWAYS, THREAD_NEVER };

struct port_range {
    uint16_t first, last;
    bool exclude;
};

struct peer_range {
    uint8_t family; /* AF_INET or AF_INET6 */
    uint8_t bits;   /* of the prefix */
    bool exclude;
    uint8_t address[16];
};

struct config {
    uint32_t epoch;
    enum mode mode;
    uint32_t window_us;
    uint32_t small;
    uint32_t port_count, peer_count;
    struct port_range ports[CONFIG_FILTERS];
    struct peer_range peers[CONFIG_FILTERS];
    const char *programs; /* the list as given, or NULL */
    const char *program;  /* the short name of this program */
    const char *report;
    const char *log;
    const char *stats; /* the directory of the statistics file, or NULL */
    struct arms arms;
    uint32_t experiment; /* from 1; grows when the arms change; older connections take no part */
    bool no_syscalls;    /* a seccomp filter is installed: make no system call of our own */
    bool always_nodelay; /* UNSTALL_NODELAY=always */
    bool override;
    bool children;    /* child processes load the library too */
    bool stacks;      /* call stacks of stalls may be recorded (UNSTALL_STACKS) */
    bool killed;      /* by the control block: all connections are in mode `off` */
    bool buffers;     /* some connection may be, or may have been, in mode coalesce */
    uint8_t quickack; /* enum quickack_use */
    uint8_t thread;   /* enum thread_use */
    uint8_t verbose;
};

/* The configuration in force. */
extern INTERNAL const struct config *config_now;

static inline const struct config *config(void) {
    return LOAD_ACQUIRE(&config_now);
}

void config_defaults(struct config *c);

enum config_result { CONFIG_OK, CONFIG_BAD, CONFIG_UNKNOWN };

/* Set one variable ("UNSTALL_MODE", "cork").  On CONFIG_BAD `expected` names the expected form. */
enum config_result config_set(struct config *c, const char *name, const char *value,
                              const char **expected);

/* True if the comma list of names (! excludes) includes this program. */
bool config_program_included(const char *list, const char *program);

/* Read the environment, warn, publish.  `program` is the short name. */
void config_load(char **environment, const char *program);

/* Publish a copy of the present configuration with another mode. */
void config_switch(enum mode mode, bool no_syscalls);
/* Publish a copy with all connections in mode `off`, connections with an arm included. */
void config_kill(void);
/* Publish a copy of `next`, which differs from `seen` only in mode, no_syscalls, window_us,
 * killed and arms.  False: another thread published first; retry. */
bool config_publish(const struct config *seen, const struct config *next);

/* True if the filters include a connection.  `service_port` is the server's port;
 * peer_family 0 means unknown.  Pure. */
bool config_includes(const struct config *c, uint16_t service_port, int peer_family,
                     const uint8_t *peer_address);

/* ---- addresses ----------------------------------------------------------
 *
 * Socket addresses in the form that filters, arms and the statistics file compare.  Pure.
 */

/* An IPv4-mapped IPv6 address counts as IPv4.  False for any other family; `to` is then all zero. */
bool config_address(const struct sockaddr_storage *from, struct stats_address *to);

#endif
