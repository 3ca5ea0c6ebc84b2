/* SPDX-License-Identifier: MIT
 *
 * Every variable: good values, bad ones, edges.
 */

#include "config.h"
#include "unit.h"

enum kind { MODE, ALWAYS, THREAD, WINDOW, SMALL, OVERRIDE, CHILDREN, VERBOSE };

static long value_of(const struct config *c, enum kind kind) {
    switch (kind) {
    case MODE: return (long)c->mode;
    case ALWAYS: return c->always_nodelay;
    case WINDOW: return (long)c->window_us;
    case SMALL: return (long)c->small;
    case OVERRIDE: return c->override;
    case THREAD: return c->thread;
    case CHILDREN: return c->children;
    case VERBOSE: return c->verbose;
    }
    return -1;
}

static const struct {
    const char *name;
    enum kind kind;
    const char *value;
    long wanted;
} good[] = {
    {"UNSTALL_MODE", MODE, "off", MODE_OFF},           {"UNSTALL_MODE", MODE, "observe", MODE_OBSERVE},
    {"UNSTALL_MODE", MODE, "nodelay", MODE_NODELAY},   {"UNSTALL_MODE", MODE, "cork", MODE_CORK},
    {"UNSTALL_MODE", MODE, "coalesce", MODE_COALESCE}, {"UNSTALL_MODE", MODE, "auto", MODE_AUTO},
    {"UNSTALL_NODELAY", ALWAYS, "late", 0},            {"UNSTALL_NODELAY", ALWAYS, "always", 1},
    {"UNSTALL_WINDOW_US", WINDOW, "500", 500},         {"UNSTALL_WINDOW_US", WINDOW, "1000", 1000},
    {"UNSTALL_WINDOW_US", WINDOW, "100000", 100000},   {"UNSTALL_WINDOW_US", WINDOW, "000000501", 501},
    {"UNSTALL_SMALL", SMALL, "1", 1},                  {"UNSTALL_SMALL", SMALL, "65536", 65536},
    {"UNSTALL_SMALL", SMALL, "64k", 65536},            {"UNSTALL_WINDOW_US", WINDOW, "500us", 500},
    {"UNSTALL_WINDOW_US", WINDOW, "2ms", 2000},        {"UNSTALL_WINDOW_US", WINDOW, "100ms", 100000},
    {"UNSTALL_THREAD", THREAD, "own", THREAD_OWN},     {"UNSTALL_THREAD", THREAD, "always", THREAD_ALWAYS},
    {"UNSTALL_THREAD", THREAD, "never", THREAD_NEVER}, {"UNSTALL_OVERRIDE", OVERRIDE, "1", 1},
    {"UNSTALL_OVERRIDE", OVERRIDE, "0", 0},            {"UNSTALL_CHILDREN", CHILDREN, "1", 1},
    {"UNSTALL_CHILDREN", CHILDREN, "0", 0},            {"UNSTALL_VERBOSE", VERBOSE, "0", 0},
    {"UNSTALL_VERBOSE", VERBOSE, "2", 2},
};

Test(config_values, good) {
    EACH_ROW(row, good) {
        struct config c;
        const char *expected = NULL;
        config_defaults(&c);
        cr_expect(config_set(&c, row->name, row->value, &expected) == CONFIG_OK, "%s=%s", row->name,
                  row->value);
        cr_expect(value_of(&c, row->kind) == row->wanted, "%s=%s gave %ld", row->name, row->value,
                  value_of(&c, row->kind));
    }
}

Test(config_values, defaults) {
    struct config c;
    memset(&c, 0xff, sizeof(c));
    config_defaults(&c);
    EXPECT_INT("mode", c.mode, MODE_AUTO);
    EXPECT_INT("window", c.window_us, 1000);
    EXPECT_INT("small", c.small, 4096);
    EXPECT(c.thread == THREAD_OWN && c.children && !c.override && !c.always_nodelay && !c.no_syscalls &&
           c.verbose == 0);
    EXPECT(c.port_count == 0 && c.peer_count == 0);
    EXPECT(!c.programs && !c.report && !c.log);
}

/* The warning must name the expected form; the test looks for a part of it. */
static const struct {
    const char *name, *value, *expected;
} bad[] = {
    {"UNSTALL_MODE", "", "nodelay"},                 {"UNSTALL_MODE", "Auto", "nodelay"},
    {"UNSTALL_MODE", "auto ", "nodelay"},            {"UNSTALL_MODE", "on", "nodelay"},
    {"UNSTALL_MODE", "corks", "coalesce"},           {"UNSTALL_MODE", "cor", "coalesce"},
    {"UNSTALL_NODELAY", "", "always"},               {"UNSTALL_NODELAY", "1", "always"},
    {"UNSTALL_NODELAY", "never", "always"},          {"UNSTALL_WINDOW_US", "", "500"},
    {"UNSTALL_WINDOW_US", "499", "500"},             {"UNSTALL_WINDOW_US", "100001", "100000"},
    {"UNSTALL_WINDOW_US", "0", "500"},               {"UNSTALL_WINDOW_US", "-1000", "500"},
    {"UNSTALL_WINDOW_US", "+1000", "500"},           {"UNSTALL_WINDOW_US", "1e3", "500"},
    {"UNSTALL_WINDOW_US", "0x400", "500"},           {"UNSTALL_WINDOW_US", "1m", "500"},
    {"UNSTALL_WINDOW_US", "ms", "500"},              {"UNSTALL_WINDOW_US", "2 ms", "500"},
    {"UNSTALL_WINDOW_US", "101ms", "100000"},        {"UNSTALL_WINDOW_US", "1s", "100000"},
    {"UNSTALL_WINDOW_US", " 1000", "500"},           {"UNSTALL_WINDOW_US", "1000.5", "500"},
    {"UNSTALL_WINDOW_US", "4294968296", "500"}, /* 2^32 + 1000 */
    {"UNSTALL_WINDOW_US", "18446744073709552616", "500"}, /* 2^64 + 1000 */
    {"UNSTALL_SMALL", "0", "bytes"},                 {"UNSTALL_SMALL", "65537", "bytes"},
    {"UNSTALL_SMALL", "65k", "bytes"},               {"UNSTALL_SMALL", "4K", "bytes"},
    {"UNSTALL_SEED", "1k", "a whole number"},        {"UNSTALL_THREAD", "", "own, always or never"},
    {"UNSTALL_THREAD", "1", "own, always or never"}, {"UNSTALL_OVERRIDE", "", "0 or 1"},
    {"UNSTALL_OVERRIDE", "2", "0 or 1"},             {"UNSTALL_OVERRIDE", "yes", "0 or 1"},
    {"UNSTALL_OVERRIDE", "10", "0 or 1"},            {"UNSTALL_CHILDREN", "no", "0 or 1"},
    {"UNSTALL_VERBOSE", "3", "2"},                   {"UNSTALL_VERBOSE", "", "2"},
    {"UNSTALL_REPORT", "", "stderr"},                {"UNSTALL_REPORT", "-", "stderr"},
    {"UNSTALL_SMALL", "-1", "bytes"},                {"UNSTALL_LOG", "", "stderr"},
    {"UNSTALL_PORTS", "", "80"},                     {"UNSTALL_PORTS", "0", "80"},
    {"UNSTALL_PORTS", "65536", "80"},                {"UNSTALL_PORTS", "http", "80"},
    {"UNSTALL_PORTS", "80,", "80"},                  {"UNSTALL_PORTS", ",80", "80"},
    {"UNSTALL_PORTS", "80,,81", "80"},               {"UNSTALL_PORTS", "80 81", "80"},
    {"UNSTALL_PORTS", "80-", "80"},                  {"UNSTALL_PORTS", "-80", "80"},
    {"UNSTALL_PORTS", "81-80", "80"},                {"UNSTALL_PORTS", "80-81-82", "80"},
    {"UNSTALL_PORTS", "!", "80"},                    {"UNSTALL_PORTS", "!!80", "80"},
    {"UNSTALL_PORTS", "80-!81", "80"},               {"UNSTALL_PEERS", "", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "localhost", "10.0.0.0/8"},    {"UNSTALL_PEERS", "10.0.0", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "10.0.0.0/", "10.0.0.0/8"},    {"UNSTALL_PEERS", "10.0.0.0/33", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "10.0.0.0/-1", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "10.0.0.0/255.0.0.0", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "10.0.0.256", "10.0.0.0/8"},   {"UNSTALL_PEERS", "/8", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "::1/129", "::1"},             {"UNSTALL_PEERS", "[::1]", "::1"},
    {"UNSTALL_PEERS", "fe80::1%eth0", "::1"},        {"UNSTALL_PEERS", ":", "::1"},
    {"UNSTALL_PEERS", "10.0.0.1,", "10.0.0.0/8"},
    {"UNSTALL_PEERS", "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb", "::1"},
    {"UNSTALL_QUICKACK", "", "auto"},                {"UNSTALL_QUICKACK", "on", "off, auto or always"},
    {"UNSTALL_QUICKACK", "autos", "auto"},           {"UNSTALL_STACKS", "yes", "0 or 1"},
    {"UNSTALL_PROGRAMS", "", "python3"},
    {"UNSTALL_PROGRAMS", "/usr/bin/python3", "python3"},
    {"UNSTALL_PROGRAMS", "python3,", "python3"},     {"UNSTALL_PROGRAMS", "!", "python3"},
};

Test(config_values, bad) {
    EACH_ROW(row, bad) {
        struct config c, before;
        const char *expected = NULL;
        config_defaults(&c);
        c.ports[0].first = 4711; /* rests of earlier good values */
        c.peers[0].bits = 7;
        c.report = "kept";
        before = c;
        cr_expect(config_set(&c, row->name, row->value, &expected) == CONFIG_BAD,
                  "%s=%s is accepted", row->name, row->value);
        cr_expect(memcmp(&c, &before, sizeof(c)) == 0, "%s=%s has changed something", row->name,
                  row->value);
        cr_expect(expected && strstr(expected, row->expected), "%s=%s: expected is \"%s\"",
                  row->name, row->value, expected ? expected : "NULL");
    }
}

/* 32 are enough for everybody, the 33rd is refused rather than lost. */
Test(config_values, as_many_filters_as_there_are_places) {
    char ports[512] = "1", peers[512] = "10.0.0.1";
    const char *expected;
    struct config c;
    config_defaults(&c);
    for (int i = 1; i < CONFIG_FILTERS; i++) {
        strcat(ports, ",1");
        strcat(peers, ",10.0.0.1");
    }
    EXPECT(config_set(&c, "UNSTALL_PORTS", ports, &expected) == CONFIG_OK);
    EXPECT(config_set(&c, "UNSTALL_PEERS", peers, &expected) == CONFIG_OK);
    EXPECT_INT("ports", c.port_count, CONFIG_FILTERS);
    EXPECT_INT("peers", c.peer_count, CONFIG_FILTERS);
    strcat(ports, ",1");
    strcat(peers, ",10.0.0.1");
    EXPECT(config_set(&c, "UNSTALL_PORTS", ports, &expected) == CONFIG_BAD);
    EXPECT(config_set(&c, "UNSTALL_PEERS", peers, &expected) == CONFIG_BAD);
    EXPECT_INT("ports", c.port_count, CONFIG_FILTERS);
}

Test(config_values, a_later_list_replaces_the_first) {
    struct config c;
    const char *expected;
    uint8_t address[16] = {10, 0, 0, 1};
    config_defaults(&c);
    config_set(&c, "UNSTALL_PORTS", "80,81,82", &expected);
    config_set(&c, "UNSTALL_PORTS", "90", &expected);
    EXPECT_INT("ports", c.port_count, 1);
    EXPECT(config_includes(&c, 90, 2, address) && !config_includes(&c, 81, 2, address));
}
