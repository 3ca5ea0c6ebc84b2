/* SPDX-License-Identifier: MIT
 *
 * Which connection gets which arm, and how UNSTALL_ARMS is read.
 */
#include <netinet/in.h>

#include "assignment.h"
#include "config.h"
#include "policy.h"
#include "unit.h"

Test(assignment, arms_are_read) {
    static const char six[] = "off:1,observe:2,nodelay:3,cork:4,coalesce:5,auto:1000";
    struct arms arms = {0};
    ASSERT(arms_parse(&arms, six));
    EXPECT_INT(six, arms.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        EXPECT_INT(six, arms.mode[i], i);
        EXPECT_INT(six, arms.weight[i], i < 5 ? i + 1 : 1000);
    }
    static const char *const bad[] = {
        "", ":", "off", "off:", "off:0", "off:1001", "off:1,", ",off:1", "off:1,,", "of:1", "offs:1", "OFF:1",
        "off:-1", "off:+1", "off: 1", "off:1 ", "off:1;", "off:1:1", "off:1,auto", "off:99999999999",
        "off:1.5", "off=1", "50:off", "auto:1,off:4294967297", "off:1,off:1,off:1,off:1,off:1,off:1,off:1",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        cr_expect(!arms_parse(&arms, bad[i]), "'%s' is bad", bad[i]);
}

static struct stats_address address(uint32_t host, uint16_t port) {
    struct stats_address a = {.family = AF_INET, .port = port};
    memcpy(a.address, &host, sizeof(host));
    return a;
}

static unsigned arm_of(const char *text, enum stats_assignment assignment, uint64_t seed, uint64_t serial,
                       uint32_t peer, uint16_t peer_port, uint16_t port) {
    struct arms arms = {.assignment = assignment, .seed = seed};
    struct stats_address from = address(peer, peer_port), listener = address(0x0100007f, port);
    ASSERT(arms_parse(&arms, text));
    uint64_t key = assignment_key(seed, assignment, serial, &from, &listener);
    return assignment_arm(key, arms.weight, arms.count);
}

/* Within a fiftieth of the weights, by connection, by peer and by listener. */
Test(assignment, shares) {
    enum { TRIES = 20000 };
    static const struct {
        const char *text;
        double wanted[STATS_ARMS];
    } rows[] = {{"off:1,auto:9", {.1, .9}},
                {"off:1000", {1}},
                {"off:3,observe:1,nodelay:4,cork:1,coalesce:2,auto:9", {.15, .05, .2, .05, .1, .45}}};
    EACH_ROW(row, rows)
        for (enum stats_assignment by = ASSIGN_CONNECTION; by <= ASSIGN_LISTENER; by++) {
            uint32_t seen[STATS_ARMS] = {0};
            for (uint32_t i = 0; i < TRIES; i++)
                seen[arm_of(row->text, by, 42, i + 1, 10 + (i << 8), (uint16_t)(i * 7), (uint16_t)i)]++;
            for (size_t i = 0; i < STATS_ARMS; i++) {
                double off = (double)seen[i] / TRIES - row->wanted[i];
                cr_expect(off > -0.02 && off < 0.02, "%s: arm %zu is off by %.3f", row->text, i, off);
            }
        }
}

/* A peer keeps its arm with any port and number; a listener gives each client the same arm. */
Test(assignment, what_it_goes_by) {
    static const char half[] = "off:50,auto:50";
    bool serials = false, seeds = false, ports = false;
    for (uint16_t i = 1; i < 64; i++) {
        EXPECT_INT("peer", arm_of(half, ASSIGN_PEER, 1, i, 9, i, i),
                   arm_of(half, ASSIGN_PEER, 1, 1, 9, 1, 1));
        EXPECT_INT("listener", arm_of(half, ASSIGN_LISTENER, 1, i, i, i, 80),
                   arm_of(half, ASSIGN_LISTENER, 1, 1, 1, 1, 80));
        unsigned first = arm_of(half, ASSIGN_CONNECTION, 1, 5, 9, 1, 1);
        EXPECT_INT("connection", arm_of(half, ASSIGN_CONNECTION, 1, 5, i, i, i), first);
        serials |= arm_of(half, ASSIGN_CONNECTION, 1, i, 9, 1, 1) != first;
        seeds |= arm_of(half, ASSIGN_PEER, i, 1, 9, 1, 1) != arm_of(half, ASSIGN_PEER, 1, 1, 9, 1, 1);
        ports |= arm_of(half, ASSIGN_LISTENER, 1, 1, 9, 1, i) != arm_of(half, ASSIGN_LISTENER, 1, 1, 9, 1, 1);
    }
    EXPECT(serials && seeds && ports);
}

/* The arms of connections 1 to 32, calculated apart from this code: the library, the BPF programs of attach
 * and an experiment that is repeated years later agree on them. */
Test(assignment, sequence) {
    static const struct {
        const char *text, *arms;
    } rows[] = {{"off:50,nodelay:50", "00011100101011001000100101010001"},
                {"off:1,off:2,off:3,off:4,off:5,off:6", "22344522435155225202433435252145"}};
    EACH_ROW(row, rows)
        for (uint64_t serial = 1; row->arms[serial - 1]; serial++)
            EXPECT_INT(row->text, arm_of(row->text, ASSIGN_CONNECTION, 7, serial, 0, 0, 0),
                       row->arms[serial - 1] - '0');
}
