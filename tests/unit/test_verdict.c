/* SPDX-License-Identifier: MIT
 *
 * Of the one verdict what tests/cli/test_report_text.py does not show.
 */
#include "unit.h"
#include "verdict.h"

static const struct {
    struct verdict seen;
    enum verdict_kind kind;
    const char *words;
} rows[] = {
    {{.stalls = 1, .exchanges = 1, .firsts = 1, .because = "it is unknown"}, VERDICT_STALLS, ""},
    {{.exchanges = 74, .least = 75, .estimated = true},
     VERDICT_TOO_FEW,
     "Too few exchanges to tell: about 74 (75 are enough) with X"},
    {{.exchanges = 12345, .least = 75, .estimated = true},
     VERDICT_NONE,
     "No stall in about 12 345 exchanges with X"},
    {{.exchanges = 1, .least = 1}, VERDICT_NONE, "No stall in 1 exchange with X"},
};

Test(verdict, comes_from_what_was_seen) {
    EACH_ROW(row, rows) {
        struct prose p = {.used = 0};
        EXPECT_INT(row->words, verdict_of(&row->seen), row->kind);
        verdict_words(&p, &row->seen, " with X");
        EXPECT_TEXT("words", p.text, row->words);
    }
}

Test(verdict, of_several_is_that_of_the_worst) {
    cr_expect_eq(verdict_worst(0, 0), 0);
    cr_expect_eq(verdict_worst(0, 2), 2);
    cr_expect_eq(verdict_worst(2, 1), 1);
    cr_expect_eq(verdict_worst(1, 2), 1);
    cr_expect_eq(verdict_worst(125, 1), 125);
    cr_expect_eq(verdict_worst(0, 125), 125);
}
