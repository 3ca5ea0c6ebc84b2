/* SPDX-License-Identifier: MIT
 *
 * The values of the variables.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "config.h"
#include "config_list.h"

/* A whole decimal number of n characters, or -1. */
static int64_t number(const char *s, size_t n) {
    int64_t value = 0;
    if (n == 0 || n > 9)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -1;
        value = value * 10 + (s[i] - '0');
    }
    return value;
}

static bool set_number(uint32_t *out, const char *value, uint32_t least, uint32_t most) {
    int64_t n = number(value, strlen(value));
    if (n < least || n > most)
        return false;
    *out = (uint32_t)n;
    return true;
}

static bool set_switch(bool *out, const char *value) {
    if ((value[0] != '0' && value[0] != '1') || value[1])
        return false;
    *out = value[0] == '1';
    return true;
}

static bool set_mode(struct config *c, const char *value) {
    for (int i = 0; i < MODE_COUNT; i++)
        if (strcmp(value, mode_names[i]) == 0) {
            c->mode = (enum mode)i;
            return true;
        }
    return false;
}

static bool set_ports(struct config *c, const char *value) {
    const char *item;
    size_t length;
    uint32_t count = 0;
    struct port_range range;
    while (config_next_item(&value, &item, &length, &range.exclude)) {
        const char *dash = memchr(item, '-', length);
        int64_t first = number(item, dash ? (size_t)(dash - item) : length);
        int64_t last = dash ? number(dash + 1, (size_t)(item + length - dash - 1)) : first;
        if (first < 1 || last < first || last > 65535 || count == CONFIG_FILTERS)
            return false;
        range.first = (uint16_t)first;
        range.last = (uint16_t)last;
        c->ports[count++] = range;
    }
    c->port_count = count;
    return true;
}

static bool set_peers(struct config *c, const char *value) {
    const char *item;
    size_t length;
    uint32_t count = 0;
    struct peer_range range;
    while (config_next_item(&value, &item, &length, &range.exclude)) {
        char address[INET6_ADDRSTRLEN];
        const char *slash = memchr(item, '/', length);
        size_t n = slash ? (size_t)(slash - item) : length;
        if (n >= sizeof(address) || count == CONFIG_FILTERS)
            return false;
        memcpy(address, item, n);
        address[n] = '\0';
        memset(range.address, 0, sizeof(range.address));
        range.family = strchr(address, ':') ? AF_INET6 : AF_INET;
        if (inet_pton(range.family, address, range.address) != 1)
            return false;
        int64_t widest = range.family == AF_INET6 ? 128 : 32;
        int64_t bits = slash ? number(slash + 1, (size_t)(item + length - slash - 1)) : widest;
        if (bits < 0 || bits > widest)
            return false;
        range.bits = (uint8_t)bits;
        c->peers[count++] = range;
    }
    c->peer_count = count;
    return true;
}

static bool set_programs(struct config *c, const char *value) {
    const char *list = value, *item;
    size_t length;
    bool exclude;
    while (config_next_item(&list, &item, &length, &exclude))
        if (length == 0 || memchr(item, '/', length))
            return false;
    c->programs = value;
    return true;
}

static bool set_nodelay(struct config *c, const char *value) {
    c->always_nodelay = strcmp(value, "always") == 0;
    return c->always_nodelay || strcmp(value, "late") == 0;
}

static bool set_target(const char **out, const char *value) {
    *out = value;
    return value[0] != '\0';
}

static bool set_stats(struct config *c, const char *value) {
    c->stats = value;
    return value[0] == '/';
}

/* The place of `value` among the names, or -1. */
static int place(const char *const names[], size_t count, const char *value) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(value, names[i]) == 0)
            return (int)i;
    return -1;
}

static bool set_assignment(struct config *c, const char *value) {
    static const char *const names[] = {"connection", "peer", "listener"}; /* stats_assignment */
    int at = place(names, ARRAY_SIZE(names), value);
    c->arms.assignment = (uint32_t)at;
    return at >= 0;
}

static bool set_quickack(struct config *c, const char *value) {
    static const char *const names[] = {"off", "auto", "always"}; /* enum quickack_use */
    int at = place(names, ARRAY_SIZE(names), value);
    c->quickack = (uint8_t)at;
    return at >= 0;
}

static bool set_thread(struct config *c, const char *value) {
    static const char *const names[] = {"own", "always", "never"}; /* enum thread_use */
    int at = place(names, ARRAY_SIZE(names), value);
    c->thread = (uint8_t)at;
    return at >= 0;
}

static bool set_seed(struct config *c, const char *value) {
    int64_t n = number(value, strlen(value));
    c->arms.seed = (uint64_t)n;
    c->seed_given = true;
    return n >= 0;
}

static bool set_verbose(struct config *c, const char *value) {
    uint32_t n;
    if (!set_number(&n, value, 0, 2))
        return false;
    c->verbose = (uint8_t)n;
    return true;
}

static bool apply(struct config *c, const char *name, const char *value, const char **expected) {
#define VARIABLE(known, form, setter) \
    if (strcmp(name, known) == 0) {   \
        *expected = form;             \
        return setter;                \
    }
    VARIABLE("UNSTALL_MODE", "off, observe, nodelay, cork, coalesce or auto", set_mode(c, value))
    VARIABLE("UNSTALL_NODELAY", "late or always", set_nodelay(c, value))
    VARIABLE("UNSTALL_WINDOW_US", "microseconds, a whole number from 500 to 100000",
             set_number(&c->window_us, value, WINDOW_MIN_US, WINDOW_MAX_US))
    VARIABLE("UNSTALL_SMALL", "bytes, a whole number from 1 to 65536",
             set_number(&c->small, value, 1, SMALL_MAX))
    VARIABLE("UNSTALL_OVERRIDE", "0 or 1", set_switch(&c->override, value))
    VARIABLE("UNSTALL_CHILDREN", "0 or 1", set_switch(&c->children, value))
    VARIABLE("UNSTALL_PORTS", "up to 32 ports or ranges, as in 80,8000-8999,!8443",
             set_ports(c, value))
    VARIABLE("UNSTALL_PEERS", "up to 32 addresses or prefixes, as in 10.0.0.0/8,!10.1.0.0/16,::1",
             set_peers(c, value))
    VARIABLE("UNSTALL_PROGRAMS", "names of programs without a path, as in python3,!java",
             set_programs(c, value))
    VARIABLE("UNSTALL_REPORT", "stderr or the name of a file, as in /tmp/unstall.%p.json",
             set_target(&c->report, value))
    VARIABLE("UNSTALL_STATS", "the whole path of a directory, as in /dev/shm/unstall",
             set_stats(c, value))
    VARIABLE("UNSTALL_STACKS", "0 or 1", set_switch(&c->stacks, value))
    VARIABLE("UNSTALL_THREAD", "own, always or never", set_thread(c, value))
    VARIABLE("UNSTALL_QUICKACK", "off, auto or always", set_quickack(c, value))
    VARIABLE("UNSTALL_ARMS", "up to 6 modes with weights from 1 to 1000, as in off:50,auto:50",
             arms_parse(&c->arms, value))
    VARIABLE("UNSTALL_ASSIGN", "connection, peer or listener", set_assignment(c, value))
    VARIABLE("UNSTALL_SEED", "a whole number of up to 9 digits", set_seed(c, value))
    VARIABLE("UNSTALL_LOG", "stderr or the name of a file", set_target(&c->log, value))
    VARIABLE("UNSTALL_VERBOSE", "0, 1 or 2", set_verbose(c, value))
#undef VARIABLE
    *expected = NULL;
    return false;
}

enum config_result config_set(struct config *c, const char *name, const char *value,
                              const char **expected) {
    struct config before = *c;
    if (apply(c, name, value, expected))
        return CONFIG_OK;
    *c = before;
    return *expected ? CONFIG_BAD : CONFIG_UNKNOWN;
}
