/* SPDX-License-Identifier: MIT
 *
 * The configuration: read once from the environment, and then changed only by a new copy of it.
 *
 * config_load() copies each variable whose name begins with UNSTALL_, because the program may change its
 * environment, and gives name and value to config_set().  That finds the name in one table (apply), which
 * says for each what is expected; a value of another form leaves the configuration as it was, and costs a
 * line of warning.  UNSTALL_LOG comes first, so that the others' warnings go where it says.
 *
 * A change fills the next place of the ring `snapshots` and publishes it if nobody else was faster
 * (config_publish); its epoch tells each connection, at its next call, that it has to look again.  Before
 * config_load() the snapshot is all zero: mode off.
 */
#include "config.h"

#include <arpa/inet.h>

#include "clock.h"

/* ---- the configuration in force ----------------------------------------- */

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
    c->experiment = 1;
}

/* ---- the environment ------------------------------------------------- */

/* Copies an entry of the environment, because the program may change it later.  NULL: no room. */
static char *keep(const char *entry) {
    static char copies[ENVIRONMENT_COPY];
    static size_t used;
    size_t n = strlen(entry) + 1;
    if (n > sizeof(copies) - used)
        return NULL;
    char *copy = memcpy(copies + used, entry, n);
    used += n;
    return copy;
}

/* Takes away the slashes at the end of a path: open(2) would follow "link/" even by O_NOFOLLOW. */
static void trim(char *path) {
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/';)
        path[--n] = '\0';
}

static bool may_buffer(const struct config *c) {
    bool buffers = c->mode == MODE_COALESCE;
    for (uint32_t i = 0; i < c->arms.count; i++)
        buffers |= c->arms.mode[i] == MODE_COALESCE;
    return buffers;
}

static void load(struct config *c, const char *entry) {
    const char *expected = NULL;
    char *name = keep(entry);
    if (!name) {
        log_line("%v: expected less than 8192 bytes in all variables together; using the default", entry);
        return;
    }
    char *value = strchr(name, '=');
    *value++ = '\0';
    switch (config_set(c, name, value, &expected)) {
    case CONFIG_OK:
        if (c->log == value)
            log_use(value);
        if (c->stats == value)
            trim(value);
        break;
    case CONFIG_BAD: log_line("%s=%v: expected %s; using the default", name, value, expected); break;
    case CONFIG_UNKNOWN:
        log_line("%v=%v: no such variable; expected a name listed in libunstall(7); ignored", name, value);
    }
}

void config_load(char **environment, const char *program) {
    struct config *c = &snapshots[1];
    config_defaults(c);
    c->program = program;
    c->arms.seed = clock_now(); /* unless UNSTALL_SEED says another */
    /* UNSTALL_LOG first, so that warnings about other variables go there */
    for (int pass = 0; pass < 2; pass++)
        for (char **e = environment; e && *e; e++)
            if (strncmp(*e, "UNSTALL_", 8) == 0 && strchr(*e, '=') &&
                (strncmp(*e, "UNSTALL_LOG=", 12) == 0) == (pass == 0))
                load(c, *e);
    if (c->programs && !config_program_included(c->programs, program)) {
        c->mode = MODE_OFF;
        c->always_nodelay = false;
        c->report = c->stats = NULL;
        c->quickack = QUICKACK_OFF;
        c->arms.count = 0;
    }
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

/* ---- the values of variables --------------------------------------------
 *
 * Parses the values of the variables and applies the filters.  Pure.
 */

struct unit {
    const char *name;
    int64_t worth;
};

static const struct unit plain[] = {{"", 1}};
static const struct unit times[] = {{"", 1}, {"us", 1}, {"ms", 1000}, {"s", 1000000}};
static const struct unit sizes[] = {{"", 1}, {"k", 1024}};

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

/* The same for a whole value, which may end in one of the units. */
static int64_t amount(const char *s, const struct unit *units, size_t count) {
    size_t digits = strspn(s, "0123456789");
    int64_t n = number(s, digits);
    for (size_t i = 0; i < count; i++)
        if (strcmp(s + digits, units[i].name) == 0)
            return n < 0 ? n : n * units[i].worth;
    return -1;
}

/* An item of a comma list, in two parts if `mark` divides it. */
struct item {
    const char *at, *second; /* the latter NULL: there is no mark */
    size_t length, second_length;
    bool exclude; /* ! precedes it */
};

/* The next item; false at the end of the list. */
static bool next_item(const char **list, char mark, struct item *item) {
    const char *at = *list;
    if (!at)
        return false;
    size_t length = strcspn(at, ",");
    *list = at[length] ? at + length + 1 : NULL;
    bool exclude = *at == '!';
    at += exclude;
    length -= exclude;
    const char *divides = memchr(at, mark, length);
    size_t first = divides ? (size_t)(divides - at) : length;
    *item = (struct item){.at = at, .length = first, .exclude = exclude};
    if (divides)
        item->second = divides + 1, item->second_length = length - first - 1;
    return true;
}

/* True: these characters are the word. */
static bool is_word(const char *s, size_t length, const char *word) {
    return strlen(word) == length && memcmp(s, word, length) == 0;
}

static int mode_of(const char *name, size_t length) {
    for (int i = 0; i < MODES; i++)
        if (is_word(name, length, mode_names[i]))
            return i;
    return -1;
}

bool arms_parse(struct arms *arms, const char *text) {
    struct item item;
    uint32_t count = 0;
    while (next_item(&text, ':', &item)) {
        int mode = item.exclude ? -1 : mode_of(item.at, item.length);
        int64_t weight = item.second ? number(item.second, item.second_length) : -1;
        if (mode < 0 || weight < 1 || weight > ARM_WEIGHT_MAX || count == STATS_ARMS)
            return false;
        arms->mode[count] = (uint8_t)mode;
        arms->weight[count++] = (uint32_t)weight;
    }
    arms->count = count;
    return true;
}

static bool set_ports(struct config *c, const char *value) {
    struct item item;
    uint32_t count = 0;
    while (next_item(&value, '-', &item)) {
        int64_t first = number(item.at, item.length);
        int64_t last = item.second ? number(item.second, item.second_length) : first;
        if (first < 1 || last < first || last > 65535 || count == CONFIG_FILTERS)
            return false;
        c->ports[count++] = (struct port_range){(uint16_t)first, (uint16_t)last, item.exclude};
    }
    c->port_count = count;
    return true;
}

static bool set_peers(struct config *c, const char *value) {
    struct item item;
    uint32_t count = 0;
    while (next_item(&value, '/', &item)) {
        char address[INET6_ADDRSTRLEN] = {0};
        struct peer_range range = {.exclude = item.exclude};
        if (item.length >= sizeof(address) || count == CONFIG_FILTERS)
            return false;
        memcpy(address, item.at, item.length);
        range.family = strchr(address, ':') ? AF_INET6 : AF_INET;
        if (inet_pton(range.family, address, range.address) != 1)
            return false;
        int64_t widest = range.family == AF_INET6 ? 128 : 32;
        int64_t bits = item.second ? number(item.second, item.second_length) : widest;
        if (bits < 0 || bits > widest)
            return false;
        range.bits = (uint8_t)bits;
        c->peers[count++] = range;
    }
    c->peer_count = count;
    return true;
}

static bool set_programs(struct config *c, const char *value) {
    const char *list = value;
    struct item item;
    while (next_item(&list, '/', &item))
        if (item.length == 0 || item.second)
            return false;
    c->programs = value;
    return true;
}

/* The index of `value` in a comma list of words, or -1. */
static int index_of(const char *words, const char *value) {
    struct item word;
    for (int at = 0; next_item(&words, '\0', &word); at++)
        if (is_word(word.at, word.length, value))
            return at;
    return -1;
}

/* The caller undoes the changes if this returns false. */
static bool apply(struct config *c, const char *name, const char *value, const char **expected) {
    int64_t n;
#define VARIABLE(known, form, setter) \
    if (strcmp(name, known) == 0) {   \
        *expected = form;             \
        return setter;                \
    }
#define NUMBER(field, units, least, most)                            \
    (n = amount(value, units, sizeof(units) / sizeof(*(units))),     \
     c->field = (__typeof__(c->field))n, n >= (least) && n <= (most))
#define WORD(field, words) (n = index_of(words, value), c->field = (__typeof__(c->field))n, n >= 0)
#define TARGET(field)      (c->field = value, value[0] != '\0' && strcmp(value, "-") != 0)
    VARIABLE("UNSTALL_MODE", "off, observe, nodelay, cork, coalesce or auto",
             (n = mode_of(value, strlen(value)), c->mode = (enum mode)n, n >= 0))
    VARIABLE("UNSTALL_NODELAY", "late or always", WORD(always_nodelay, "late,always"))
    VARIABLE("UNSTALL_WINDOW_US", "microseconds, a whole number from 500 to 100000, or a time as 2ms",
             NUMBER(window_us, times, WINDOW_MIN_US, WINDOW_MAX_US))
    VARIABLE("UNSTALL_SMALL", "bytes, a whole number from 1 to 65536, or a size as 16k",
             NUMBER(small, sizes, 1, SMALL_MAX))
    VARIABLE("UNSTALL_OVERRIDE", "0 or 1", WORD(override, "0,1"))
    VARIABLE("UNSTALL_CHILDREN", "0 or 1", WORD(children, "0,1"))
    VARIABLE("UNSTALL_PORTS", "up to 32 ports or ranges, as in 80,8000-8999,!8443",
             set_ports(c, value))
    VARIABLE("UNSTALL_PEERS", "up to 32 addresses or prefixes, as in 10.0.0.0/8,!10.1.0.0/16,::1",
             set_peers(c, value))
    VARIABLE("UNSTALL_PROGRAMS", "names of programs without a path, as in python3,!java",
             set_programs(c, value))
    VARIABLE("UNSTALL_REPORT", "stderr or the name of a file, as in /tmp/unstall.%p.json",
             TARGET(report))
    VARIABLE("UNSTALL_STATS", "the whole path of a directory, as in /dev/shm/unstall",
             (c->stats = value, value[0] == '/'))
    VARIABLE("UNSTALL_STACKS", "0 or 1", WORD(stacks, "0,1"))
    VARIABLE("UNSTALL_THREAD", "own, always or never", WORD(thread, "own,always,never"))
    VARIABLE("UNSTALL_QUICKACK", "off, auto or always", WORD(quickack, "off,auto,always"))
    VARIABLE("UNSTALL_ARMS", "up to 6 modes with weights from 1 to 1000, as in off:50,auto:50",
             arms_parse(&c->arms, value))
    VARIABLE("UNSTALL_ASSIGN", "connection, peer or listener",
             WORD(arms.assignment, "connection,peer,listener"))
    VARIABLE("UNSTALL_SEED", "a whole number of up to 9 digits",
             NUMBER(arms.seed, plain, 0, INT32_MAX))
    VARIABLE("UNSTALL_LOG", "stderr or the name of a file", TARGET(log))
    VARIABLE("UNSTALL_VERBOSE", "0, 1 or 2", WORD(verbose, "0,1,2"))
#undef VARIABLE
#undef NUMBER
#undef WORD
#undef TARGET
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

struct filter {
    bool any, included, excluded;
};

static void consider(struct filter *f, bool same, bool exclude) {
    f->any |= !exclude;
    f->included |= same && !exclude;
    f->excluded |= same && exclude;
}

/* A list with only excluding items includes everything else. */
static bool passes(struct filter f) {
    return !f.excluded && (f.included || !f.any);
}

bool config_program_included(const char *list, const char *program) {
    struct filter filter = {0};
    struct item item;
    while (next_item(&list, '\0', &item))
        consider(&filter, is_word(item.at, item.length, program), item.exclude);
    return passes(filter);
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
    struct filter ports = {0}, peers = {0};
    for (uint32_t i = 0; i < c->port_count; i++) {
        const struct port_range *r = &c->ports[i];
        consider(&ports, service_port >= r->first && service_port <= r->last, r->exclude);
    }
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct peer_range *r = &c->peers[i];
        consider(&peers, peer_family && prefix_matches(r, peer_family, peer_address), r->exclude);
    }
    return passes(ports) && passes(peers);
}

/* ---- addresses ---------------------------------------------------------- */

bool config_address(const struct sockaddr_storage *from, struct stats_address *to) {
    memset(to, 0, sizeof(*to));
    if (from->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof(in));
        to->family = AF_INET;
        to->port = ntohs(in.sin_port);
        memcpy(to->address, &in.sin_addr, 4);
        return true;
    }
    if (from->ss_family != AF_INET6)
        return false;
    struct sockaddr_in6 in6;
    memcpy(&in6, from, sizeof(in6));
    bool mapped = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
    to->family = mapped ? AF_INET : AF_INET6;
    to->port = ntohs(in6.sin6_port);
    memcpy(to->address, in6.sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
    return true;
}
