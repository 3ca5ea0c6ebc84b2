/* SPDX-License-Identifier: MIT
 *
 * explain's tables of fixed size, and its histogram of waits.
 */

#include "flow.h"
#include "order.h"
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

struct given {
    uint64_t count, backwards, numbers;
    int64_t last_ns;
};

static void take(void *context, const struct ordered *o) {
    struct given *g = context;
    g->count++;
    g->backwards += o->at_ns < g->last_ns;
    g->numbers += o->number;
    g->last_ns = o->at_ns;
}

/* Each segment is away from its place by up to `far`; 200 000 of them. */
static struct given in_order(int64_t far, bool *late) {
    struct order o;
    struct given g = {.last_ns = INT64_MIN};
    enum { COUNT = 200000 };
    uint32_t dice = 1;
    ASSERT(order_make(&o, take, &g));
    for (int64_t i = 0; i < COUNT; i++) {
        dice = dice * 1664525 + 1013904223;
        struct ordered next = {.at_ns = i + (int64_t)(dice >> 8) % far, .number = (uint64_t)i};
        order_add(&o, &next);
    }
    order_end(&o);
    *late = o.late;
    order_free(&o);
    EXPECT_INT("all", g.count, COUNT);
    EXPECT_INT("each", g.numbers, (uint64_t)COUNT * (COUNT - 1) / 2);
    return g;
}

Test(explain_order, sorts_what_fits_and_tells_what_does_not) {
    bool late;
    EXPECT_INT("backwards", in_order(1, &late).backwards, 0);
    EXPECT(!late);
    EXPECT_INT("backwards", in_order(ORDER_ROOM, &late).backwards, 0);
    EXPECT(!late);
    EXPECT(in_order(2 * ORDER_ROOM, &late).backwards > 0);
    EXPECT(late);
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

Test(explain_flow, both_directions_are_one_connection) {
    int done = 0, from_client, from_server;
    struct table t;
    struct tcp_segment there = {.source.port = 4000, .destination.port = 80};
    struct tcp_segment back = {.source.port = 80, .destination.port = 4000};
    ASSERT(table_make(&t, 2, sizeof(struct flow), count, &done));
    struct flow *f = flows_find(&t, &there, &from_client);
    EXPECT(f == flows_find(&t, &back, &from_server));
    EXPECT(from_client != from_server);
    for (uint16_t port = 1; port <= 5; port++) {
        there.source.port = port;
        flows_find(&t, &there, &from_client);
    }
    EXPECT_INT("evicted", t.evicted, 4);
    table_free(&t);
    EXPECT_INT("all are judged", done, 6);
}

static struct unheld message(unsigned pieces, uint32_t first, uint32_t second, int64_t apart_ns) {
    struct unheld m = {.pieces = 0};
    for (unsigned i = 0; i < pieces; i++)
        unheld_piece(&m, i + 1, i * apart_ns, i ? second : first);
    return m;
}

Test(explain_unheld, one_or_two_pieces_without_a_gap) {
    struct unheld none = message(0, 0, 0, 0), one = message(1, 300, 0, 0);
    struct unheld two = message(2, 200, 100, UNHELD_APART_NS - 1),
                  apart = message(2, 200, 100, UNHELD_APART_NS),
                  backwards = message(2, 200, 100, -1), three = message(3, 100, 100, 0);
    EXPECT(unheld_answered(&one, 9, 7) && one.number[2] == 9 && one.at_ns[2] == 7);
    EXPECT(unheld_answered(&two, 9, 7));
    EXPECT(!unheld_answered(&none, 9, 7) && !unheld_answered(&apart, 9, 7));
    EXPECT(!unheld_answered(&backwards, 9, 7) && !unheld_answered(&three, 9, 7));
    EXPECT_INT("bytes", unheld_bytes(&one), 300);
    EXPECT_INT("bytes", unheld_bytes(&two), 300);
}

Test(explain_unheld, a_size_of_about_the_same_is_in_a_class_near) {
    for (uint64_t bytes = 1; bytes < 200000; bytes += 1 + bytes / 97) {
        struct unheld least = message(1, (uint32_t)(bytes - bytes / 4), 0, 0),
                      most = message(1, (uint32_t)(bytes + bytes / 4), 0, 0);
        EXPECT(unheld_is_about(&least, bytes) && unheld_is_about(&most, bytes));
        EXPECT(unheld_size(bytes) - unheld_size(unheld_bytes(&least)) <= UNHELD_SIZES_APART);
        EXPECT(unheld_size(unheld_bytes(&most)) - unheld_size(bytes) <= UNHELD_SIZES_APART);
        least = message(1, (uint32_t)(bytes - bytes / 4 - 1), 0, 0);
        most = message(1, (uint32_t)(bytes + bytes / 4 + 1), 0, 0);
        EXPECT(!unheld_is_about(&least, bytes) && !unheld_is_about(&most, bytes));
    }
}

Test(explain_unheld, one_of_the_stalled_size_is_not_given_up_for_another) {
    struct unheld kept = message(0, 0, 0, 0), small = message(1, 20, 0, 0), like = message(1, 290, 0, 0);
    unheld_keep(&kept, &small, 300);
    EXPECT_INT("the first", unheld_bytes(&kept), 20);
    unheld_keep(&kept, &like, 300);
    unheld_keep(&kept, &small, 300);
    EXPECT_INT("of that size", unheld_bytes(&kept), 290);
    unheld_keep(&kept, &small, 0);
    EXPECT_INT("no size is known", unheld_bytes(&kept), 20);
}

Test(explain_waits, a_long_time_is_told_in_hours) {
    char text[24];
    EXPECT_TEXT("time", duration_text(43536000, text), "43.5 ms");
    EXPECT_TEXT("time", duration_text((int64_t)99990 * MS, text), "99.99 s");
    EXPECT_TEXT("time", duration_text((int64_t)150000 * MS, text), "150 s");
    EXPECT_TEXT("time", duration_text((int64_t)11520000 * MS, text), "3.20 h");
}
