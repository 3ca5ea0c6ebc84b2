/* SPDX-License-Identifier: MIT
 *
 * A new connection starts with the facts of earlier ones of its endpoint.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "config.h"
#include "fake_kernel.h"
#include "fds.h"
#include "turn.h"
#include "endpoint_cache.h"
#include "unit.h"

static void set_up(void) {
    fake_kernel_install();
    config_load(NULL, "prog");
}

TestSuite(endpoint_cache, .init = set_up);

static struct conn *accepted(int fd, uint8_t endpoint) {
    struct conn *c = fds_create(fd, ORIGIN_ACCEPTED);
    c->policy.mode = MODE_AUTO;
    c->policy.established = true;
    endpoint_join(c, endpoint);
    conn_unlock(c);
    return c;
}

/* Ends a turn of so many writes; the connection is then known to be bursty. */
static void end_turn_of(struct conn *c, unsigned writes) {
    c->policy.input_ever = c->policy.nodelay = true;
    c->counts.turns++;
    c->policy.position = (uint16_t)writes;
    policy_turn_ends(&c->policy);
    endpoint_update(c);
}

static bool first_is_held(const struct conn *c) {
    static const struct policy_limits limits = {.small = 4096, .may_hold = true};
    static const struct policy_write small = {.bytes = 200};
    struct policy p = c->policy;
    p.position = 1;
    return policy_holds(&p, &limits, &small);
}

Test(endpoint_cache, the_second_connection_starts_with_what_the_first_learned) {
    struct conn *listener = accepted(3, 0);
    uint8_t endpoint = endpoint_of_listener(listener);
    ASSERT(endpoint != 0);
    struct conn *first = accepted(4, endpoint);
    EXPECT(!first_is_held(first));
    end_turn_of(first, 2);
    EXPECT(first_is_held(accepted(5, endpoint)));
}

Test(endpoint_cache, a_family_of_its_own_for_each_endpoint) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(80)}, b = a;
    inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
    inet_pton(AF_INET, "127.0.0.1", &b.sin_addr);
    b.sin_port = htons(81);
    uint8_t to_a = endpoint_of_destination((struct sockaddr *)&a, sizeof(a));
    uint8_t to_b = endpoint_of_destination((struct sockaddr *)&b, sizeof(b));
    ASSERT(to_a != 0 && to_b != 0 && to_a != to_b);
    EXPECT_INT("the same again", endpoint_of_destination((struct sockaddr *)&a, sizeof(a)), to_a);
    end_turn_of(accepted(4, to_a), 2);
    EXPECT(first_is_held(accepted(5, to_a)));
    EXPECT(!first_is_held(accepted(6, to_b)));
}

Test(endpoint_cache, without_an_endpoint_there_is_no_entry) {
    struct sockaddr_in a = {.sin_family = AF_UNIX};
    EXPECT_INT("another kind", endpoint_of_destination((struct sockaddr *)&a, sizeof(a)), 0);
    a.sin_family = AF_INET6;
    EXPECT_INT("too short", endpoint_of_destination((struct sockaddr *)&a, sizeof(a)), 0);
    struct conn *c = accepted(4, 0);
    end_turn_of(c, 2);
    EXPECT(!first_is_held(accepted(5, 0)));
}

Test(endpoint_cache, one_that_defied_prediction_takes_back_what_was_taught) {
    struct conn *listener = accepted(3, 0);
    uint8_t endpoint = endpoint_of_listener(listener);
    struct conn *first = accepted(4, endpoint);
    end_turn_of(first, 2);
    first->policy.nodelay_only = true;
    end_turn_of(first, 2);
    EXPECT(!first_is_held(accepted(5, endpoint)));
}

Test(endpoint_cache, one_that_nobody_answers_teaches_nothing) {
    uint8_t endpoint = endpoint_of_listener(accepted(3, 0));
    struct conn *first = accepted(4, endpoint);
    first->policy.nodelay = true;
    first->counts.turns = 1;
    first->policy.position = 2;
    policy_turn_ends(&first->policy);
    endpoint_update(first);
    EXPECT(!first_is_held(accepted(5, endpoint)));
}

/* Without a read of the shim: the end of a turn alone updates the cache. */
Test(endpoint_cache, a_turn_teaches_when_it_ends) {
    struct conn *first = accepted(4, 7);
    first->policy.input_ever = first->policy.nodelay = true;
    ASSERT(conn_lock(first));
    hold_join_turn(first);
    hold_join_turn(first);
    conn_unlock(first);
    hold_end_turn(PUSH_WAIT);
    EXPECT(first_is_held(accepted(5, 7)));
}
