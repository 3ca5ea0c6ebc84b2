/* SPDX-License-Identifier: MIT
 *
 * Learning which write of a turn is its last.
 */
#include "policy.h"
#include "unit.h"

static void learn(struct turn_model *model, int times, unsigned writes) {
    for (int i = 0; i < times; i++)
        turn_learn(model, writes);
}

/* The predictions for the first `most` writes: ? unknown, + more, . last */
static const char *foretold(const struct turn_model *model, unsigned most) {
    static char signs[64];
    for (unsigned position = 1; position <= most; position++)
        signs[position - 1] = "?+."[turn_predict(model, position)];
    signs[most] = '\0';
    return signs;
}

static const struct {
    const char *name;
    struct {
        int times;
        unsigned writes;
    } turns[4];
    const char *wanted;
} learnt[] = {
    {"nothing seen", {{0, 0}}, "????"},
    {"one turn of one write", {{1, 1}}, ".???"},
    {"one turn of two writes is learned at once", {{1, 2}}, "+.??"},
    {"one turn of three", {{1, 3}}, "++.?"},
    {"always two", {{50, 2}}, "+.??"},
    {"always five", {{50, 5}}, "++++.?"},
    {"sixteen, the length of the table", {{20, 16}}, "+++++++++++++++."},
    {"a single shorter turn does not upset", {{20, 3}, {1, 1}}, "++.?"},
    {"a single longer turn does not upset", {{20, 2}, {1, 5}}, "+.++.?"},
    {"nor does one in twenty", {{20, 2}, {1, 3}, {20, 2}, {1, 3}}, "+..?"},
    {"two odd ones in a row do: holding is the cheaper error", {{20, 2}, {2, 3}}, "++.?"},
    {"the change from two to four is learnt", {{50, 2}, {5, 4}}, "+++.?"},
    {"the change from four to two is learnt", {{50, 4}, {20, 2}}, "+.+.?"},
    {"and back", {{50, 4}, {50, 2}, {5, 4}}, "+++.?"},
    {"from one to two: the first is soon held", {{50, 1}, {2, 2}}, "+.?"},
};

Test(turn, learns) {
    EACH_ROW(row, learnt) {
        struct turn_model model = {0};
        for (size_t i = 0; i < ARRAY_SIZE(row->turns); i++)
            learn(&model, row->turns[i].times, row->turns[i].writes);
        EXPECT_TEXT(row->name, foretold(&model, (unsigned)strlen(row->wanted)), row->wanted);
    }
}

Test(turn, alternating_lengths_are_held) {
    struct turn_model model = {0};
    for (int i = 0; i < 40; i++)
        turn_learn(&model, i % 2 ? 2 : 3);
    EXPECT_INT("two and three in turns", turn_predict(&model, 2), TURN_MORE);
}

Test(turn, share_never_returns_to_unknown) {
    struct turn_model model = {0};
    learn(&model, 1, 1);
    learn(&model, 1000, 2);
    EXPECT_INT("first of two", turn_predict(&model, 1), TURN_MORE);
    learn(&model, 1000, 1);
    EXPECT_INT("after all an only one", turn_predict(&model, 1), TURN_LAST);
}

/* Turns longer than the table end somewhere in its last slot.  A segment costs more than a push: the writes
 * of a turn of 40 must not leave one by one from the 16th on. */
Test(turn, longer_than_the_table) {
    static const unsigned lengths[] = {17, 20, 40, 1000, UINT16_MAX};
    for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
        struct turn_model model = {0};
        learn(&model, 20, lengths[i]);
        unsigned position = 1;
        while (position < lengths[i] && position < 60 &&
               turn_predict(&model, position) == TURN_MORE)
            position++;
        cr_expect(position == lengths[i] || position == 60,
                  "turns of %u writes: write %u is not foretold as one of more", lengths[i],
                  position);
    }
}

/* Before the first write of a turn has been counted (one that failed with EAGAIN is taken back)
 * the question has no answer, and reads nothing outside the table. */
Test(turn, no_write_yet) {
    struct turn_model model = {0};
    learn(&model, 20, 2);
    EXPECT(turn_predict(&model, 0) != TURN_LAST);
}

/* One turn of another length leaves no trace for ever. */
Test(turn, what_was_learned_comes_back_whole) {
    struct turn_model model = {0};
    for (int i = 0; i < 200; i++)
        turn_learn(&model, 2);
    struct turn_model before = model;
    turn_learn(&model, 3);
    EXPECT(model.ended[1] != before.ended[1]);
    for (int i = 0; i < 200; i++)
        turn_learn(&model, 2);
    EXPECT_INT("the second write", model.ended[1], before.ended[1]);
    EXPECT_INT("the first", model.ended[0], before.ended[0]);
    turn_learn(&model, 1);
    EXPECT(model.ended[0] > before.ended[0]);
    for (int i = 0; i < 200; i++)
        turn_learn(&model, 2);
    EXPECT_INT("the first, which ended a turn", model.ended[0], before.ended[0]);
}
