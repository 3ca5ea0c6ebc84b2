/* SPDX-License-Identifier: MIT
 *
 * explain's tables of fixed size, and its histogram of waits.
 */
#include <stdlib.h>

#include "flow.h"
#include "stall.h"
#include "table.h"
#include "unit.h"

struct item {
    struct node node;
    int value;
};

static void count(void *context, void *item) {
    (void)item;
    ++*(int *)context;
}

Test(explain_table, gives_up_what_was_not_looked_at_for_longest) {
    struct table t;
    int gone = 0;
    ASSERT(table_make(&t, 100, sizeof(struct item), count, &gone));
    for (int i = 0; i < 1000; i++) {
        struct item *first = table_find(&t, 7);
        EXPECT(i < 1 || first); /* looked at all the time */
        if (i == 0)
            ((struct item *)table_add(&t, 7))->value = 70;
        ((struct item *)table_add(&t, 1000 + (uint64_t)i))->value = i;
    }
    EXPECT_INT("evicted", gone, 901);
    EXPECT_INT("evicted", t.evicted, 901);
    EXPECT_INT("kept", ((struct item *)table_find(&t, 7))->value, 70);
    EXPECT_INT("newest", ((struct item *)table_find(&t, 1999))->value, 999);
    EXPECT(table_find(&t, 1000) == NULL);
    table_drop(&t, table_find(&t, 7));
    EXPECT(table_find(&t, 7) == NULL);
    EXPECT_INT("zeroed", ((struct item *)table_add(&t, 7))->value, 0);
    table_free(&t);
    EXPECT_INT("all", gone, 1002);
}

Test(explain_waits, quantiles_lie_between_the_least_and_the_most) {
    struct waits w = {0}, all = {0};
    EXPECT_INT("none", waits_quantile(&w, 0.5), 0);
    waits_add(&w, 43536000);
    EXPECT_INT("one", waits_quantile(&w, 0.5), 43536000);
    for (int i = 0; i < 100; i++)
        waits_add(&w, (int64_t)(40 + i % 10) * MS);
    EXPECT(waits_quantile(&w, 0.5) > 43 * MS && waits_quantile(&w, 0.5) < 46 * MS);
    waits_add(&w, (int64_t)10000 * MS); /* beyond the last bucket */
    waits_merge(&all, &w);
    waits_merge(&all, &w);
    EXPECT_INT("merged", all.count, 2 * w.count);
    EXPECT_INT("sum", all.sum_ns, 2 * w.sum_ns);
    EXPECT_INT("the same median", waits_quantile(&all, 0.5), waits_quantile(&w, 0.5));
    EXPECT_INT("most", waits_quantile(&all, 1), all.max_ns);
}

/* 3 % above 64 ms, half a millisecond below. */
Test(explain_waits, buckets_are_fine_enough) {
    for (int64_t ns = MS / 4; ns < (int64_t)700 * MS; ns += ns / 20 + 1) {
        struct waits w = {0};
        waits_add(&w, ns);
        for (int i = 0; i < WAITS_BUCKETS - 1; i++) {
            if (w.bucket[i] == 0)
                continue;
            EXPECT(waits_bound(i) <= (double)ns && (double)ns < waits_bound(i + 1));
            EXPECT(waits_bound(i + 1) - waits_bound(i) <= (ns < 64 * MS ? MS / 2.0 : (double)ns * 0.03) + 1);
        }
    }
}

static void take_done(void *context, struct flow *f) {
    (void)f;
    ++*(int *)context;
}

Test(explain_flow, both_directions_are_one_connection) {
    int done = 0, from_client, from_server;
    struct flows *t = flows_make(2, take_done, &done);
    struct tcp_segment there = {.source.port = 4000, .destination.port = 80};
    struct tcp_segment back = {.source.port = 80, .destination.port = 4000};
    ASSERT(t != NULL);
    struct flow *f = flows_find(t, &there, &from_client);
    EXPECT(f == flows_find(t, &back, &from_server));
    EXPECT(from_client != from_server);
    for (uint16_t port = 1; port <= 5; port++) {
        there.source.port = port;
        flows_find(t, &there, &from_client);
    }
    EXPECT_INT("evicted", flows_evicted(t), 4);
    flows_free(t);
    EXPECT_INT("all are judged", done, 6);
}
