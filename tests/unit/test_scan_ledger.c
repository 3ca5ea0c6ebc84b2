/* SPDX-License-Identifier: MIT
 *
 * Counters of a scan without an end: they never sink, and memory is bounded.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"

static const uint64_t S = 1000000000;

static struct scan_ledger l;
static struct scan_process everyone[2000];

static void begin(void) {
    scan_ledger_begin(&l);
}

static void end(void) {
    scan_ledger_end(&l);
}

TestSuite(scan_ledger, .init = begin, .fini = end);

/* The process is that with the index of the pid; 0: not known yet; -1: not to be known. */
static const struct scan_process *process_of(const struct scan_connection *c, void *arg) {
    static const struct scan_process nobody = {.pid = 0};
    (void)arg;
    return c->pid > 0 ? &everyone[c->pid] : c->pid < 0 ? &nobody : NULL;
}

static struct scan_connection connection(uint32_t cookie, pid_t pid, double stalls) {
    return (struct scan_connection){.key.cookie = {cookie},
                                    .pid = pid,
                                    .uid = 7,
                                    .stalls = {.count = stalls, .lost_ns = stalls * 44e6}};
}

static void take(struct scan_connection *list, size_t count, uint64_t at_s) {
    const struct scan_result r = {.connections = list, .count = count};
    cr_assert_eq(scan_ledger_take(&l, &r, at_s * S, process_of, NULL), 0);
}

static void take_one(uint32_t cookie, pid_t pid, double stalls, uint64_t at_s) {
    struct scan_connection one = connection(cookie, pid, stalls);
    take(&one, 1, at_s);
}

static void name(pid_t pid, const char *program) {
    snprintf(everyone[pid].program, sizeof(everyone[pid].program), "%s", program);
    everyone[pid].pid = pid;
}

static double told(const char *program) {
    for (size_t i = 0; i < l.series_count; i++)
        if (strcmp(l.series[i].program, program) == 0)
            return l.series[i].told.stalls;
    return -1;
}

Test(scan_ledger, an_estimate_that_sinks_does_not_lower_the_counter) {
    name(1, "a");
    take_one(1, 1, 10, 1);
    take_one(1, 1, 8, 2);
    cr_assert_eq(told("a"), 10);
    take_one(1, 1, 11, 3);
    cr_assert_eq(told("a"), 11);
}

Test(scan_ledger, a_quiet_connection_is_forgotten_and_stays_counted) {
    name(1, "a");
    take_one(1, 1, 10, 1);
    take_one(1, 1, 10, 60);
    cr_assert_eq(l.done_count, 0);
    take_one(1, 1, 10, 62);
    cr_assert_eq(l.done_count, 1);
    cr_assert_eq(l.done[0].cookie[0], 1);
    cr_assert_eq(l.count, 0);
    take(NULL, 0, 63);
    cr_assert_eq(told("a"), 10);
    take_one(1, 1, 3, 64); /* it stalls again, and its source began at 0 */
    cr_assert_eq(told("a"), 13);
}

Test(scan_ledger, of_many_connections_the_quiet_ones_are_forgotten_soon) {
    enum { COUNT = 5000 };
    static struct scan_connection list[COUNT];
    name(1, "a");
    for (uint32_t i = 0; i < COUNT; i++)
        list[i] = connection(i + 1, 1, 1);
    take(list, COUNT, 1);
    take(list, COUNT, 4);
    cr_assert_eq(l.done_count, COUNT);
    cr_assert_eq(told("a"), COUNT);
}

Test(scan_ledger, what_the_source_takes_back_is_not_counted_twice) {
    name(1, "a");
    take_one(1, 1, 10, 1);
    take(NULL, 0, 2); /* a cork, as it seems */
    take_one(1, 1, 10, 3);
    cr_assert_eq(told("a"), 10);
}

Test(scan_ledger, two_connections_of_one_program_are_one_series) {
    struct scan_connection two[] = {connection(1, 1, 3), connection(2, 2, 4)};
    name(1, "a");
    name(2, "a");
    take(two, 2, 1);
    cr_assert_eq(l.series_count, 2);
    cr_assert_eq(told("a"), 7);
    cr_assert_float_eq(l.series[1].told.lost_ns, 7 * 44e6, 1);
    cr_assert_eq(l.series[1].uid, 7);
}

Test(scan_ledger, streams_that_are_not_answered_are_counted_apart) {
    struct scan_connection one = connection(1, 1, 5);
    name(1, "a");
    one.one_way = true;
    take(&one, 1, 1);
    cr_assert_eq(told("a"), 0);
    cr_assert_eq(l.series[1].told.one_way, 5);
}

Test(scan_ledger, a_process_is_waited_for_and_not_for_ever) {
    take_one(1, 0, 5, 1);
    cr_assert_eq(l.series_count, 1);
    take_one(1, 0, 6, 22);
    cr_assert_eq(told(""), 6);
}

Test(scan_ledger, a_process_that_is_not_to_be_known_is_counted_at_once) {
    take_one(1, -1, 2, 1);
    cr_assert_eq(told(""), 2);
}

Test(scan_ledger, a_container_is_not_named_twice_and_a_session_has_no_number) {
    name(1, "a");
    name(2, "b");
    strcpy(everyone[1].unit, "docker-0123.scope");
    strcpy(everyone[1].container, "0123456789ab");
    strcpy(everyone[2].unit, "session-12.scope");
    take_one(1, 1, 1, 1);
    take_one(2, 2, 1, 1);
    cr_assert_str_eq(l.series[1].unit, "");
    cr_assert_str_eq(l.series[1].container, "0123456789ab");
    cr_assert_str_eq(l.series[2].unit, "session-*.scope");
}

Test(scan_ledger, there_is_an_end_to_the_series_and_quiet_ones_make_room) {
    enum { COUNT = LEDGER_SERIES + 10 };
    static struct scan_connection list[COUNT + 1];
    char text[32];
    for (int i = 1; i <= COUNT; i++) {
        snprintf(text, sizeof(text), "p%d", i);
        name(i, text);
        list[i - 1] = connection((uint32_t)i, i, 1);
    }
    take(list, COUNT, 1);
    cr_assert_eq(l.series_count, LEDGER_SERIES);
    cr_assert_eq(told("(others)"), COUNT - (LEDGER_SERIES - 1));
    take(NULL, 0, 3690);
    name(COUNT + 1, "late");
    take_one(COUNT + 1, COUNT + 1, 1, 3700);
    cr_assert_eq(told("late"), 1);
    cr_assert_eq(l.series_count, LEDGER_SERIES);
}

Test(scan_ledger, a_source_that_ends_leaves_its_counts) {
    name(1, "a");
    take_one(1, 1, 10, 1);
    scan_ledger_settle(&l);
    take_one(1, 1, 2, 2);
    cr_assert_eq(told("a"), 12);
}
