/* SPDX-License-Identifier: MIT */
#include "reader.h"
#include "unit.h"

/* "observe PID" said "16 messages, 17 stalls": the message of one had begun before the first look. */
Test(reader, no_more_stalls_than_messages_since_a_look) {
    static struct stats_pattern then[2] = {{.count = 5, .stalls = 4}, {.count = 7, .stalls = 7}};
    static struct stats_pattern now[2] = {{.count = 21, .stalls = 21}, {.count = 7, .stalls = 7}};
    struct reader_file before = {.patterns = then, .pattern_count = 2};
    struct reader_file after = {.patterns = now, .pattern_count = 2};
    reader_since(&after, &before);
    EXPECT_INT("patterns that have grown", after.pattern_count, 1);
    EXPECT_INT("stalls", now[0].stalls, 17);
    EXPECT_INT("messages", now[0].count, 17);
}
