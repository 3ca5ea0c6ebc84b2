/* SPDX-License-Identifier: MIT
 *
 * The one verdict: which kind, which words, which exit code.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "verdict.h"

struct row {
    struct verdict seen;
    enum verdict_kind kind;
    int code;
    char words[200];
};

ParameterizedTestParameters(verdict, comes_from_what_was_seen) {
    static struct row rows[] = {
        {{.stalls = 1}, VERDICT_STALLS, 1, ""},
        {{.stalls = 1, .exchanges = 1, .firsts = 1, .because = "it is unknown"}, VERDICT_STALLS, 1, ""},
        {{0}, VERDICT_TOO_FEW, 2, "Too few exchanges to tell: none was seen with X"},
        {{.exchanges = 3, .firsts = 1},
         VERDICT_TOO_FEW,
         2,
         "Too few exchanges to tell: 3 with X on 1 connection, and the first of a connection never "
         "stalls"},
        {{.exchanges = 42, .firsts = 40},
         VERDICT_TOO_FEW,
         2,
         "Too few exchanges to tell: 42 with X on 40 connections, and the first of a connection never "
         "stalls"},
        {{.exchanges = 43, .firsts = 40},
         VERDICT_NONE,
         0,
         "No stall in 3 exchanges with X, the first of each connection not counted"},
        {{.exchanges = 3}, VERDICT_NONE, 0, "No stall in 3 exchanges with X"},
        {{.exchanges = 74, .least = 75, .estimated = true},
         VERDICT_TOO_FEW,
         2,
         "Too few exchanges to tell: about 74 (75 are enough) with X"},
        {{.exchanges = 12345, .least = 75, .estimated = true},
         VERDICT_NONE,
         0,
         "No stall in about 12 345 exchanges with X"},
        {{.exchanges = 1, .least = 1}, VERDICT_NONE, 0, "No stall in 1 exchange with X"},
        {{.exchanges = 100, .because = "writes bypass the library"},
         VERDICT_CANNOT_TELL,
         2,
         "Cannot tell: writes bypass the library"},
    };
    return cr_make_param_array(struct row, rows, sizeof(rows) / sizeof(*rows));
}

ParameterizedTest(struct row *row, verdict, comes_from_what_was_seen) {
    struct prose p = {.used = 0};
    cr_expect_eq(verdict_of(&row->seen), row->kind, "%s", row->words);
    cr_expect_eq(verdict_code(verdict_of(&row->seen)), row->code, "%s", row->words);
    verdict_words(&p, &row->seen, " with X");
    cr_expect_str_eq(p.text, row->words);
}

Test(verdict, of_several_is_that_of_the_worst) {
    cr_expect_eq(verdict_worst(0, 0), 0);
    cr_expect_eq(verdict_worst(0, 2), 2);
    cr_expect_eq(verdict_worst(2, 1), 1);
    cr_expect_eq(verdict_worst(1, 2), 1);
    cr_expect_eq(verdict_worst(125, 1), 125);
    cr_expect_eq(verdict_worst(0, 125), 125);
}

Test(verdict, has_a_word_a_kind) {
    cr_expect_str_eq(verdict_name(VERDICT_STALLS), "stalls");
    cr_expect_str_eq(verdict_name(VERDICT_NONE), "none");
    cr_expect_str_eq(verdict_name(VERDICT_TOO_FEW), "too-few");
    cr_expect_str_eq(verdict_name(VERDICT_CANNOT_TELL), "cannot-tell");
}
