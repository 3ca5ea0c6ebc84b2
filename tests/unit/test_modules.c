/* SPDX-License-Identifier: MIT
 *
 * Lines of /proc/PID/maps.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "evidence.h"
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

/* A line is good from the blank behind its offset on, and nothing behind its end is read. */
Test(modules, lines_that_are_cut) {
    static const char whole[] = "7f12a000-7f12b000 r-xp 0000a000 08:01 77 /lib/x";
    size_t offset_ends = strlen("7f12a000-7f12b000 r-xp 0000a000 ");
    for (size_t length = 0; length < sizeof(whole); length++) {
        struct modules_line line;
        bool good = modules_parse(whole, length, &line);
        EXPECT_INT("good", good, length >= offset_ends);
        if (!good)
            continue;
        EXPECT_INT("offset", line.offset, 0xa000);
        size_t path = length > 40 ? length - 40 - 1 : 0;
        EXPECT_INT("path", line.path_bytes, path);
    }
}

static const struct {
    const char *line;
    bool good;
} odd[] = {
    {"", false}, {"1000", false}, {"1000-", false}, {"1000-2000", false}, {"1000-2000 r-x", false},
    {"2000-1000 r-xp 00000000 00:00 0", false}, {"garbage", false},
    {"1000-1001 r-xp 0 0:0 0", true},  {"1000-1000 r-xp 0 0:0 0", false}, {"-1000 r-xp 0 0:0 0", false},
    {"1000- r-xp 0 0:0 0", false},     {"1000-2000 r-xp  0:0 0", false},  {"1000 2000 r-xp 0 0:0 0", false},
    {"1000-2000-r-xp 0 0:0 0", false}, {"1000-2000 r-xp 0-0:0 0", false}, {"100G-2000 r-xp 0 0:0 0", false},
    {"1000-200A r-xp 0 0:0 0", false}, {"9-a r-xp 0 0:0 0", true},        {"f-10 r-xp f 0:0 0", true},
};

Test(modules, odd_lines) {
    EACH_ROW(row, odd) {
        struct modules_line line;
        EXPECT_INT(row->line, modules_parse(row->line, strlen(row->line), &line), row->good);
    }
}

/* ---- the table of a process --------------------------------------------- */

static struct stats_file *file;

static void set_up(void) {
    file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(file != MAP_FAILED);
}

static int noted(void) {
    int count = 0;
    while (count < STATS_MODULES && file->module[count].state == STATS_VALID)
        count++;
    return count;
}

static const struct stats_module *module_at(const void *address) {
    for (int i = 0; i < noted(); i++)
        if (file->module[i].start <= (uintptr_t)address && (uintptr_t)address < file->module[i].end)
            return &file->module[i];
    return NULL;
}

/* A new file of so many bytes, mapped with its second page executable.  Its name takes the place of the
 * XXXXXX at the end of `path`. */
static char *mapped(char *path, size_t bytes) {
    int fd = mkostemp(path, O_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && pwrite(fd, "beginning", 9, 0) == 9);
    char *at = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    cr_assert(at != MAP_FAILED && mprotect(at + 4096, 4096, PROT_READ | PROT_EXEC) == 0);
    return at;
}

/* A known module is not noted twice; a new one is noted. */
Test(modules, noted_twice, .init = set_up) {
    modules_note(file);
    int first = noted();
    EXPECT(first > 2);
    modules_note(file);
    EXPECT_INT("the same", noted(), first);
    char path[] = "/tmp/unit-modules-XXXXXX";
    const char *at = mapped(path, 8192);
    unlink(path);
    modules_note(file);
    EXPECT_INT("one more", noted(), first + 1);
    EXPECT(module_at(at + 4096));
    for (int i = 0; i < STATS_MODULES; i++)
        file->module[i].state = STATS_VALID;
    const struct stats_module last = file->module[STATS_MODULES - 1];
    modules_note(file);
    EXPECT(memcmp(&last, &file->module[STATS_MODULES - 1], sizeof(last)) == 0);
}

/* A long path keeps its end. */
Test(modules, a_long_path, .init = set_up) {
    char folder[400] = "/tmp/unit-", path[420] = "";
    size_t room = sizeof(file->module[0].path);
    memset(folder + 10, 'd', 200);
    strcat(folder, "XXXXXX");
    ASSERT(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/", folder);
    memset(path + strlen(path), 'f', 190);
    strcat(path, "XXXXXX");
    char *at = mapped(path, 8192);
    modules_note(file);
    unlink(path);
    rmdir(folder);
    const struct stats_module *m = module_at(at + 4096);
    ASSERT(m && strlen(path) > room);
    EXPECT_INT("length", strlen(m->path), room - 1);
    EXPECT(strncmp(m->path, "...", 3) == 0);
    EXPECT_TEXT("its end", m->path + 3, path + strlen(path) - (room - 1) + 3);
}
