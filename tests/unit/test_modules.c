/* SPDX-License-Identifier: MIT
 *
 * Lines of /proc/PID/maps.
 */
#include "modules.h"
#include "unit.h"

static const struct {
    const char *line;
    bool good, executable;
    uint64_t start, end, offset;
    const char *path;
} lines[] = {
    {"5581e0a2b000-5581e0a2d000 r-xp 00002000 08:01 1049 /usr/bin/cat", true, true, 0x5581e0a2b000,
     0x5581e0a2d000, 0x2000, "/usr/bin/cat"},
    {"7f12a000-7f12b000 rw-p 00000000 00:00 0 ", true, false, 0x7f12a000, 0x7f12b000, 0, ""},
    {"7f12a000-7f12b000 rwxp 00000000 00:00 0", true, true, 0x7f12a000, 0x7f12b000, 0, ""},
    {"7ffd3000-7ffd5000 r-xp 00000000 00:00 0                          [vdso]", true, true,
     0x7ffd3000, 0x7ffd5000, 0, "[vdso]"},
    {"1000-2000 r-xp 0000a000 fd:00 77   /tmp/a b (deleted)", true, true, 0x1000, 0x2000, 0xa000,
     "/tmp/a b (deleted)"},
    {"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", true, true,
     0xffffffffff600000, 0xffffffffff601000, 0, "[vsyscall]"},
    {"", .good = false},
    {"1000", .good = false},
    {"1000-", .good = false},
    {"1000-2000", .good = false},
    {"1000-2000 r-x", .good = false},
    {"2000-1000 r-xp 00000000 00:00 0", .good = false},
    {"garbage", .good = false},
};

Test(modules, lines) {
    EACH_ROW(row, lines) {
        struct modules_line line;
        bool good = modules_parse(row->line, strlen(row->line), &line);
        EXPECT_INT(row->line, good, row->good);
        if (!good || !row->good)
            continue;
        EXPECT_INT(row->line, line.executable, row->executable);
        EXPECT_INT(row->line, line.start, row->start);
        EXPECT_INT(row->line, line.end, row->end);
        EXPECT_INT(row->line, line.offset, row->offset);
        EXPECT_INT(row->line, line.path_bytes, strlen(row->path));
        EXPECT_INT(row->line, memcmp(line.path, row->path, line.path_bytes), 0);
    }
}
