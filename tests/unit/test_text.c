/* SPDX-License-Identifier: MIT
 *
 * Text in a fixed buffer.
 */
#include <limits.h>

#include "log.h"
#include "unit.h"

static const struct {
    const char *name;
    size_t size;
    const char *parts[3];
    const char *wanted;
} cuts[] = {
    {"fits", 16, {"stall", "ed"}, "stalled"},
    {"fits exactly", 8, {"stall", "ed"}, "stalled"},
    {"cut by one", 7, {"stall", "ed"}, "stalle"},
    {"cut in the first", 3, {"stall", "ed"}, "st"},
    {"nothing after a cut", 6, {"stall", "ed", "x"}, "stall"},
    {"room for nothing", 1, {"stall"}, ""},
    {"empty parts", 8, {"", "a", ""}, "a"},
};

Test(text, cut) {
    EACH_ROW(row, cuts) {
        char guarded[32];
        memset(guarded, '#', sizeof(guarded));
        struct text t = {.at = guarded, .size = row->size};
        guarded[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(row->parts) && row->parts[i]; i++)
            text_add(&t, row->parts[i]);
        EXPECT_TEXT(row->name, guarded, row->wanted);
        EXPECT_INT(row->name, t.used, strlen(row->wanted));
        EXPECT_INT(row->name, guarded[row->size], '#');
    }
}

Test(text, declared_empty) {
    TEXT(t, 10);
    EXPECT_TEXT("TEXT", t.at, "");
    EXPECT_INT("TEXT", t.size, 10);
    text_add_n(&t, "abcdef", 3);
    EXPECT_TEXT("a part of a string", t.at, "abc");
    text_add_n(&t, "a\0b", 3);
    EXPECT_INT("a NUL inside counts", t.used, 6);
}

static const struct {
    const char *name;
    int64_t number;
    const char *wanted;
} numbers[] = {
    {"zero", 0, "0"},                                  {"one digit", 7, "7"},
    {"ten", 10, "10"},                                 {"negative", -1, "-1"},
    {"the largest", INT64_MAX, "9223372036854775807"}, {"the smallest", INT64_MIN, "-9223372036854775808"},
};

Test(text, numbers) {
    EACH_ROW(row, numbers) {
        TEXT(t, 32);
        text_number(&t, row->number);
        EXPECT_TEXT(row->name, t.at, row->wanted);
    }
}

static const struct {
    const char *name, *given, *wanted;
} strings[] = {
    {"plain", "python3", "\"python3\""},       {"empty", "", "\"\""},
    {"a quote", "a\"b", "\"a\\\"b\""},         {"a backslash", "a\\b", "\"a\\\\b\""},
    {"a newline", "a\nb", "\"a\\u000ab\""},    {"a tab", "\t", "\"\\u0009\""},
    {"unit separator", "\x1f", "\"\\u001f\""}, {"delete", "\x7f", "\"\\u007f\""},
    {"a slash stays", "/usr/bin", "\"/usr/bin\""},
    {"the first byte that is no ASCII", "\x80", "\"\\u0080\""},
    {"two bytes, the first", "\xc2\x80", "\"\xc2\x80\""},
    {"two bytes, the last", "\xdf\xbf", "\"\xdf\xbf\""},
    {"three bytes, the first", "\xe0\xa0\x80", "\"\xe0\xa0\x80\""},
    {"three bytes, the last", "\xef\xbf\xbf", "\"\xef\xbf\xbf\""},
    {"four bytes, the first", "\xf0\x90\x80\x80", "\"\xf0\x90\x80\x80\""},
    {"four bytes, the last", "\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
    {"no first byte of two", "\xc1\x80", "\"\\u00c1\\u0080\""},
    {"no first byte of four", "\xf5\x80\x80\x80", "\"\\u00f5\\u0080\\u0080\\u0080\""},
    {"two bytes, cut", "\xc2", "\"\\u00c2\""},
    {"three bytes, cut", "\xe0\xa0", "\"\\u00e0\\u00a0\""},
    {"four bytes, cut", "\xf0\x90\x80", "\"\\u00f0\\u0090\\u0080\""},
    {"another behind the first", "\xe0\xa0-", "\"\\u00e0\\u00a0-\""},
    {"a blank", " ", "\" \""},                 {"a tilde", "~", "\"~\""},
    {"UTF-8 stays", "na\xc3\xafve", "\"na\xc3\xafve\""},
};

Test(text, json) {
    EACH_ROW(row, strings) {
        TEXT(t, 64);
        text_json(&t, row->given);
        EXPECT_TEXT(row->name, t.at, row->wanted);
    }
}

Test(text, in_a_mapping) {
    struct text t;
    ASSERT(text_map(&t, 8));
    text_add(&t, "123456789");
    EXPECT_TEXT("cut", t.at, "1234567");
    text_unmap(&t);
    EXPECT(!text_map(&t, SIZE_MAX / 2));
}

Test(text, print) {
    TEXT(t, 500);
    text_print(&t, "%s[%d] %j %x.", "name", -7L, "a\"b", UINT64_C(0x1f));
    EXPECT_TEXT("each form", t.at, "name[-7] \"a\\\"b\" 000000000000001f.");
    char long_one[400];
    memset(long_one, 'x', sizeof(long_one));
    long_one[sizeof(long_one) - 1] = '\0';
    t.used = 0;
    text_print(&t, "%v!", long_one);
    EXPECT_INT("a value is cut", t.used, 301);
}
