/* SPDX-License-Identifier: MIT
 *
 * Lines of /proc/PID/maps, and build ids in the notes of an ELF file.
 */
#include <elf.h>

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

static size_t note(uint8_t *to, uint32_t type, const char *name, uint32_t bytes, uint8_t fill,
                   size_t align) {
    Elf64_Nhdr header = {(uint32_t)strlen(name) + 1, bytes, type};
    size_t at = sizeof(header), names = (at + header.n_namesz + align - 1) / align * align;
    memset(to, 0, names);
    memcpy(to, &header, sizeof(header));
    memcpy(to + at, name, header.n_namesz);
    memset(to + names, fill, bytes);
    return (names + bytes + align - 1) / align * align;
}

Test(modules, build_ids) {
    uint8_t notes[512] = {0}, id[SEGMENT_BUILD_ID] = {0};
    size_t n = note(notes, NT_GNU_ABI_TAG, "GNU", 16, 1, 4);
    n += note(notes + n, NT_GNU_BUILD_ID, "GNU", 20, 0xab, 4);
    EXPECT_INT("after another note", modules_build_id(notes, n, 4, id), 20);
    EXPECT_INT("its bytes", id[0] == 0xab && id[19] == 0xab, true);
    EXPECT_INT("cut short", modules_build_id(notes, n - 1, 4, id), 0);
    EXPECT_INT("nothing", modules_build_id(notes, 0, 4, id), 0);
    n = note(notes, NT_GNU_BUILD_ID, "GNU", 40, 0xcd, 4);
    EXPECT_INT("longer than there is room for", modules_build_id(notes, n, 4, id), 20);
    n = note(notes, NT_GNU_BUILD_ID, "BSD", 20, 0xcd, 4);
    EXPECT_INT("of somebody else", modules_build_id(notes, n, 4, id), 0);
    n = note(notes, NT_GNU_PROPERTY_TYPE_0, "GNU", 32, 1, 8);
    n += note(notes + n, NT_GNU_BUILD_ID, "GNU", 8, 0xef, 8);
    EXPECT_INT("aligned to eight", modules_build_id(notes, n, 8, id), 8);
    notes[0] = notes[1] = notes[2] = notes[3] = 0xff;
    EXPECT_INT("a name without end", modules_build_id(notes, n, 8, id), 0);
}
