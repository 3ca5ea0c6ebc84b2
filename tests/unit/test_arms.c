/* SPDX-License-Identifier: MIT
 *
 * Which connection gets which arm, and how UNSTALL_ARMS is read.
 */
#include <netinet/in.h>

#include "config.h"
#include "assignment.h"
#include "policy.h"
#include "unit.h"

static const struct {
    const char *text;
    uint32_t count;
    uint8_t mode[STATS_ARMS];
    uint32_t weight[STATS_ARMS];
} good[] = {
    {"off:1", 1, {MODE_OFF}, {1}},
    {"off:50,auto:50", 2, {MODE_OFF, MODE_AUTO}, {50, 50}},
    {"auto:1000,auto:1", 2, {MODE_AUTO, MODE_AUTO}, {1000, 1}},
    {"off:1,observe:2,nodelay:3,cork:4,coalesce:5,auto:6",
     6,
     {MODE_OFF, MODE_OBSERVE, MODE_NODELAY, MODE_CORK, MODE_COALESCE, MODE_AUTO},
     {1, 2, 3, 4, 5, 6}},
};

Test(arms, good) {
    EACH_ROW(row, good) {
        struct arms arms = {0};
        cr_expect(arms_parse(&arms, row->text), "%s is good", row->text);
        EXPECT_INT(row->text, arms.count, row->count);
        for (uint32_t i = 0; i < row->count; i++) {
            EXPECT_INT(row->text, arms.mode[i], row->mode[i]);
            EXPECT_INT(row->text, arms.weight[i], row->weight[i]);
        }
    }
}

static const char *const bad[] = {
    "",
    ":",
    "off",
    "off:",
    "off:0",
    "off:1001",
    "off:1,",
    ",off:1",
    "off:1,,",
    "of:1",
    "offs:1",
    "OFF:1",
    "off:-1",
    "off:+1",
    "off: 1",
    "off:1 ",
    "off:1;",
    "off:1:1",
    "off:1,auto",
    "off:99999999999",
    "off:1.5",
    "off=1",
    "50:off",
    "auto:1,off:4294967297",
    "off:1,off:1,off:1,off:1,off:1,off:1,off:1",
};

Test(arms, bad) {
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct arms arms = {0};
        cr_expect(!arms_parse(&arms, bad[i]), "'%s' is bad", bad[i]);
    }
}

/* ---- assignment ------------------------------------------------------- */

enum { TRIES = 20000 };

static struct stats_address address(uint32_t host, uint16_t port) {
    struct stats_address a = {.family = AF_INET, .port = port};
    memcpy(a.address, &host, sizeof(host));
    return a;
}

static unsigned arm_of(const struct arms *arms, uint64_t serial, const struct stats_address *peer,
                       const struct stats_address *listener) {
    uint64_t key = assignment_key(arms->seed, arms->assignment, serial, peer, listener);
    return assignment_arm(key, arms->weight, arms->count);
}

/* Shares by connection, by peer and by listener: within a fiftieth of the weights. */
static void expect_shares(const char *text, enum stats_assignment assignment) {
    struct arms arms = {.assignment = assignment, .seed = 42};
    uint32_t seen[STATS_ARMS] = {0}, total = 0;
    ASSERT(arms_parse(&arms, text));
    for (uint32_t i = 0; i < TRIES; i++) {
        struct stats_address peer = address(0x0100000a + (i << 8), (uint16_t)(i * 7));
        struct stats_address listener = address(0x0100007f, (uint16_t)i);
        unsigned arm = arm_of(&arms, i + 1, &peer, &listener);
        ASSERT(arm < arms.count);
        EXPECT_INT(text, arm_of(&arms, i + 1, &peer, &listener), arm);
        seen[arm]++;
    }
    for (uint32_t i = 0; i < arms.count; i++)
        total += arms.weight[i];
    for (uint32_t i = 0; i < arms.count; i++) {
        double share = (double)seen[i] / TRIES, wanted = (double)arms.weight[i] / total;
        cr_expect(share > wanted - 0.02 && share < wanted + 0.02, "%s: arm %u has %.3f", text, i,
                  share);
    }
}

Test(arms, shares) {
    static const char *const texts[] = {"off:1,auto:1", "off:1,auto:9", "off:1000",
                                        "off:3,observe:1,nodelay:4,cork:1,coalesce:5,auto:9"};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        for (unsigned a = ASSIGN_CONNECTION; a <= ASSIGN_LISTENER; a++)
            expect_shares(texts[i], (enum stats_assignment)a);
}

static unsigned choose(enum stats_assignment assignment, uint64_t seed, uint64_t serial,
                       uint16_t peer_port, uint16_t port) {
    struct arms arms = {.assignment = assignment, .seed = seed};
    struct stats_address peer = address(0x0200000a, peer_port),
                           listener = address(0x0100007f, port);
    ASSERT(arms_parse(&arms, "off:50,auto:50"));
    return arm_of(&arms, serial, &peer, &listener);
}

/* A peer keeps its arm with any port and number; a listener gives each client the same arm. */
Test(arms, what_it_goes_by) {
    bool serials = false, seeds = false, ports = false;
    for (uint16_t i = 1; i < 64; i++) {
        EXPECT_INT("peer", choose(ASSIGN_PEER, 1, i, i, i), choose(ASSIGN_PEER, 1, 1, 1, 1));
        EXPECT_INT("listener", choose(ASSIGN_LISTENER, 1, i, i, 80),
                   choose(ASSIGN_LISTENER, 1, 1, 1, 80));
        EXPECT_INT("connection", choose(ASSIGN_CONNECTION, 1, 5, i, i),
                   choose(ASSIGN_CONNECTION, 1, 5, 1, 1));
        serials |= choose(ASSIGN_CONNECTION, 1, i, 1, 1) != choose(ASSIGN_CONNECTION, 1, 1, 1, 1);
        seeds |= choose(ASSIGN_PEER, i, 1, 1, 1) != choose(ASSIGN_PEER, 1, 1, 1, 1);
        ports |= choose(ASSIGN_LISTENER, 1, 1, 1, i) != choose(ASSIGN_LISTENER, 1, 1, 1, 1);
    }
    EXPECT(serials && seeds && ports);
}

/* The arms of connections 1 to 32, calculated apart from this code: the library, the BPF programs of attach
 * and an experiment that is repeated years later agree on them. */
Test(arms, sequence) {
    static const struct {
        const char *text, *arms;
    } rows[] = {{"off:50,nodelay:50", "00011100101011001000100101010001"},
                {"off:1,off:2,off:3,off:4,off:5,off:6", "22344522435155225202433435252145"}};
    EACH_ROW(row, rows) {
        struct arms arms = {.assignment = ASSIGN_CONNECTION, .seed = 7};
        ASSERT(arms_parse(&arms, row->text));
        for (uint64_t serial = 1; row->arms[serial - 1]; serial++) {
            unsigned expected = (unsigned)(row->arms[serial - 1] - '0');
            EXPECT_INT(row->text, arm_of(&arms, serial, NULL, NULL), expected);
        }
    }
}

Test(arms, equal) {
    struct arms a = {.seed = 1}, b = {.seed = 1};
    ASSERT(arms_parse(&a, "off:1,auto:2") && arms_parse(&b, "off:1,auto:2"));
    b.mode[2] = MODE_CORK; /* behind the last */
    EXPECT(arms_equal(&a, &b));
    b.weight[1] = 3;
    EXPECT(!arms_equal(&a, &b));
    b = a;
    b.mode[0] = MODE_CORK;
    EXPECT(!arms_equal(&a, &b));
    b = a;
    b.seed = 2;
    EXPECT(!arms_equal(&a, &b));
    b = a;
    b.assignment = ASSIGN_PEER;
    EXPECT(!arms_equal(&a, &b));
    b = a;
    b.count = 1;
    EXPECT(!arms_equal(&a, &b));
}
