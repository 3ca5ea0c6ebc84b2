/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "log.h"

enum { CONFIG_SNAPSHOTS = 64, ENVIRONMENT_COPY = 8192 };

static struct config snapshots[CONFIG_SNAPSHOTS];
static uint32_t last_epoch = 1;
const struct config *config_now = &snapshots[0];

void config_defaults(struct config *c) {
    memset(c, 0, sizeof(*c));
    c->mode = MODE_AUTO;
    c->children = true;
    c->stacks = true;
    c->window_us = WINDOW_DEFAULT_US;
    c->small = SMALL_DEFAULT;
}

/* ---- values ---------------------------------------------------------- */

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

/* The next item of a comma list: its start and length, and whether a ! leads
 * it.  False at the end of the list. */
static bool next_item(const char **list, const char **item, size_t *length, bool *exclude) {
    if (!*list)
        return false;
    const char *start = *list;
    const char *comma = strchr(start, ',');
    *length = comma ? (size_t)(comma - start) : strlen(start);
    *list = comma ? comma + 1 : NULL;
    *exclude = *length > 0 && start[0] == '!';
    *item = start + *exclude;
    *length -= *exclude;
    return true;
}

static bool set_ports(struct config *c, const char *value) {
    const char *item;
    size_t length;
    uint32_t count = 0;
    struct port_range range;
    while (next_item(&value, &item, &length, &range.exclude)) {
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
    while (next_item(&value, &item, &length, &range.exclude)) {
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
    while (next_item(&list, &item, &length, &exclude))
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

/* ---- filters --------------------------------------------------------- */

/* With only excluding items everything else is included. */
static bool verdict(bool included, bool excluded, bool any_including) {
    return !excluded && (included || !any_including);
}

bool config_program_included(const char *list, const char *program) {
    const char *item;
    size_t length, name_length = strlen(program);
    bool exclude, included = false, excluded = false, any = false;
    while (next_item(&list, &item, &length, &exclude)) {
        bool same = length == name_length && memcmp(item, program, length) == 0;
        any |= !exclude;
        included |= same && !exclude;
        excluded |= same && exclude;
    }
    return verdict(included, excluded, any);
}

static bool prefix_matches(const struct peer_range *range, int family, const uint8_t *address) {
    if (range->family != family)
        return false;
    unsigned whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(range->address, address, whole) != 0)
        return false;
    return rest == 0 || ((range->address[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

bool config_includes(const struct config *c, uint16_t service_port, int peer_family,
                     const uint8_t *peer_address) {
    bool included = false, excluded = false, any = false;
    for (uint32_t i = 0; i < c->port_count; i++) {
        const struct port_range *r = &c->ports[i];
        bool same = service_port >= r->first && service_port <= r->last;
        any |= !r->exclude;
        included |= same && !r->exclude;
        excluded |= same && r->exclude;
    }
    if (!verdict(included, excluded, any))
        return false;
    included = excluded = any = false;
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct peer_range *r = &c->peers[i];
        bool same = peer_family && prefix_matches(r, peer_family, peer_address);
        any |= !r->exclude;
        included |= same && !r->exclude;
        excluded |= same && r->exclude;
    }
    return verdict(included, excluded, any);
}

/* ---- the environment ------------------------------------------------- */

static void warn(const char *name, const char *value, enum config_result result,
                 const char *expected) {
    TEXT(line, 900);
    text_add(&line, name);
    if (result == CONFIG_BAD) {
        text_add(&line, "=");
        text_add_n(&line, value, strnlen(value, 200));
        text_add(&line, ": expected ");
        text_add(&line, expected);
        text_add(&line, "; using the default");
    } else {
        text_add(&line, "=");
        text_add_n(&line, value, strnlen(value, 200));
        text_add(&line, ": no such variable; expected a name listed in libunstall(7); ignored");
    }
    log_line(&line);
}

/* A longer name than any that we know is cut: it is unknown in any case. */
static bool split(const char *entry, char *name, size_t size, const char **value) {
    const char *equals = strchr(entry, '=');
    if (!equals)
        return false;
    size_t length = (size_t)(equals - entry);
    if (length >= size)
        length = size - 1;
    memcpy(name, entry, length);
    name[length] = '\0';
    *value = equals + 1;
    return true;
}

/* The strings of a configuration outlive changes of the environment. */
static const char *keep(const char *value) {
    static char copies[ENVIRONMENT_COPY];
    static size_t used;
    size_t n = strlen(value) + 1;
    if (n > sizeof(copies) - used)
        return NULL;
    char *copy = memcpy(copies + used, value, n);
    used += n;
    return copy;
}

static bool may_buffer(const struct config *c) {
    bool buffers = c->mode == MODE_COALESCE;
    for (uint32_t i = 0; i < c->arms.count; i++)
        buffers |= c->arms.mode[i] == MODE_COALESCE;
    return buffers;
}

void config_load(char **environment, const char *program) {
    struct config *c = &snapshots[1];
    config_defaults(c);
    c->program = program;
    /* the place for warnings first, so that warnings about others go there */
    for (int pass = 0; pass < 2; pass++)
        for (char **e = environment; e && *e; e++) {
            char name[64];
            const char *value, *expected = NULL;
            if (strncmp(*e, "UNSTALL_", 8) != 0 || !split(*e, name, sizeof(name), &value) ||
                (strcmp(name, "UNSTALL_LOG") == 0) != (pass == 0))
                continue;
            const char *kept = keep(value);
            enum config_result result = kept ? config_set(c, name, kept, &expected) : CONFIG_BAD;
            if (result == CONFIG_OK && pass == 0)
                log_use(c->log);
            if (result != CONFIG_OK)
                warn(name, value, result, expected ? expected : "less than 8192 bytes in all");
        }
    if (c->programs && !config_program_included(c->programs, program)) {
        c->mode = MODE_OFF;
        c->always_nodelay = false;
        c->report = c->stats = NULL;
        c->arms.count = 0;
    }
    if (!c->seed_given)
        c->arms.seed = clock_now();
    c->buffers = may_buffer(c);
    c->epoch = last_epoch;
    STORE_RELEASE(&config_now, c);
}

bool config_publish(const struct config *seen, const struct config *next) {
    uint32_t epoch = __atomic_add_fetch(&last_epoch, 1, __ATOMIC_RELAXED);
    struct config *c = &snapshots[epoch % CONFIG_SNAPSHOTS];
    *c = *next;
    c->buffers = next->buffers || may_buffer(next);
    c->epoch = epoch;
    return __atomic_compare_exchange_n(&config_now, &seen, c, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

void config_kill(void) {
    const struct config *seen;
    struct config next;
    do {
        seen = config();
        next = *seen;
        next.killed = true;
    } while (!config_publish(seen, &next));
}

void config_switch(enum mode mode, bool no_syscalls) {
    const struct config *seen;
    struct config next;
    do {
        seen = config();
        next = *seen;
        next.mode = mode;
        next.no_syscalls = no_syscalls;
    } while (!config_publish(seen, &next));
}
