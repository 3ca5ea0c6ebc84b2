/* SPDX-License-Identifier: MIT
 *
 * Lines of strace, taken apart.
 */
#include "strace_line.h"
#include "unit.h"

static const struct {
    const char *name, *text;
    enum line_kind kind;
    enum line_time time;
    int pid;
    long long at_us, took_us; /* took_us -1: not told */
    const char *call;
    long value;
    bool failed;
} lines[] = {
    {"-o -tt -T", "12 01:00:00.000002 write(3, \"x\", 1) = 1 <0.000007>", LINE_CALL, TIME_OF_DAY, 12,
     3600000002, 7, "write", 1, false},
    {"[pid] -ttt", "[pid  12] 1700000000.5 read(3, \"\", 1) = 0", LINE_CALL, TIME_EPOCH, 12,
     1700000000500000, -1, "read", 0, false},
    {"one process, -r", "     0.000123 close(3)  = 0", LINE_CALL, TIME_RELATIVE, 0, 123, -1, "close", 0,
     false},
    {"-Y", "12<nginx> 01:00:00.000001 close(3) = 0", LINE_CALL, TIME_OF_DAY, 12, 3600000001, -1, "close",
     0, false},
    {"-tt -r", "12 01:00:00.000001 (+     0.000020) close(3) = 0", LINE_CALL, TIME_OF_DAY, 12,
     3600000001, -1, "close", 0, false},
    {"-n -i", "12 01:00:00.000001 [    3] [00007f36caf1f4e5] close(3) = 0", LINE_CALL, TIME_OF_DAY, 12,
     3600000001, -1, "close", 0, false},
    {"nanoseconds", "12 1700000000.000000999 close(3) = 0 <0.000007654>", LINE_CALL, TIME_EPOCH, 12,
     1700000000000000, 7, "close", 0, false},
    {"no time", "12 close(3) = 0", LINE_CALL, TIME_NONE, 12, 0, -1, "close", 0, false},
    {"neither", "close(3) = 0", LINE_CALL, TIME_NONE, 0, 0, -1, "close", 0, false},
    {"whole seconds", "12 01:00:00 close(3) = 0", LINE_CALL, TIME_COARSE, 12, 3600000000, -1, "close", 0,
     false},
    {"failed", "1.5 read(3, 0x7f, 1) = -1 EAGAIN (Resource temporarily unavailable) <0.1>", LINE_CALL,
     TIME_RELATIVE, 0, 1500000, 100000, "read", -1, true},
    {"no result", "1.5 read(3, 0x7f, 1) = ? ERESTARTSYS (To be restarted)", LINE_CALL, TIME_RELATIVE, 0,
     1500000, -1, "read", 0, true},
    {"decorated result", "1.5 accept(3<TCP:[1]>, NULL, NULL) = 7<TCP:[a:1->b:2]>", LINE_CALL,
     TIME_RELATIVE, 0, 1500000, -1, "accept", 7, false},
    {"data like an end", "1.5 write(3, \") = 9 <0.5>\", 11) = 11", LINE_CALL, TIME_RELATIVE, 0, 1500000,
     -1, "write", 11, false},
    {"unfinished", "12 1.5 read(3,  <unfinished ...>", LINE_UNFINISHED, TIME_RELATIVE, 12, 1500000, -1,
     "read", 0, false},
    {"resumed", "12 1.5 <... read resumed>\"x\", 1) = 1 <0.2>", LINE_RESUMED, TIME_RELATIVE, 12, 1500000,
     200000, "read", 1, false},
    {"exited", "12 1.5 +++ exited with 0 +++", LINE_EXITED, TIME_RELATIVE, 12, 1500000, -1, "", 0, false},
    {"a signal", "12 1.5 --- SIGCHLD {si_signo=SIGCHLD} ---", LINE_OTHER, TIME_RELATIVE, 12, 1500000, -1,
     "", 0, false},
    {"a stack", " > /lib/libc.so.6(__write+0x14) [0xf7a90]", LINE_OTHER, TIME_NONE, 0, 0, -1, "", 0,
     false},
    {"strace's own words", "strace: Process 12 attached", LINE_OTHER, TIME_NONE, 0, 0, -1, "strace", 0,
     false},
    {"nothing", "", LINE_OTHER, TIME_NONE, 0, 0, -1, "", 0, false},
    {"no clock", "12 99:99:99.5 close(3) = 0", LINE_OTHER, TIME_NONE, 12, 0, -1, "99", 0, false},
};

Test(explain_line, forms) {
    EACH_ROW(row, lines) {
        struct line got;
        line_read(row->text, &got);
        EXPECT_INT(row->name, got.kind, row->kind);
        if (row->kind == LINE_OTHER)
            continue; /* the rest of it means nothing */
        EXPECT_INT(row->name, got.time, row->time);
        EXPECT_INT(row->name, got.pid, row->pid);
        EXPECT_INT(row->name, got.at_ns / 1000, row->at_us);
        EXPECT_INT(row->name, got.took_ns < 0 ? -1 : got.took_ns / 1000, row->took_us);
        EXPECT_TEXT(row->name, got.name, row->call);
        EXPECT_INT(row->name, got.value, row->value);
        EXPECT_INT(row->name, got.failed, row->failed);
    }
}

static const struct {
    const char *text;
    int number;
    const char *decoration;
} descriptors[] = {
    {"3, \"x\"", 3, ""},
    {"3<TCP:[127.0.0.1:1->127.0.0.1:2]>, \"x\"", 3, "TCP:[127.0.0.1:1->127.0.0.1:2]"},
    {"12</tmp/a>", 12, "/tmp/a"},
    {"3</tmp", 3, ""},
    {"NULL", -1, ""},
    {"99999999999", -1, ""},
    {"", -1, ""},
};

Test(explain_line, a_descriptor_and_what_it_is) {
    EACH_ROW(row, descriptors) {
        const char *begin, *end;
        char text[64] = "";
        EXPECT_INT(row->text, line_descriptor(row->text, &begin, &end), row->number);
        if (begin)
            memcpy(text, begin, (size_t)(end - begin));
        EXPECT_TEXT(row->text, text, row->decoration);
    }
}
