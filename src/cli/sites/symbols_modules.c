/* SPDX-License-Identifier: MIT
 *
 * Finds the files that the process had mapped.  A file is used only if its build id is the same.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols_parts.h"

/* A statistics file may name any path: only a regular file is opened, and without waiting.  Files of /proc
 * count as regular, but have no size. */
static int open_file(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_same(int fd, const struct stats_module *m) {
    uint8_t head[STATS_HEAD] = {0};
    return pread(fd, head, sizeof(head), 0) > 0 && stats_hash(0, head, sizeof(head)) == m->head;
}

/* The offset from addresses in the file to addresses in the process.  False: no executable part of the file
 * fits the mapping. */
static bool bias_of(Elf *elf, const struct stats_module *m, uint64_t *bias) {
    size_t count = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    GElf_Phdr p;
    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        uint64_t first = p.p_offset & ~(page - 1);
        if (m->offset < first || m->offset >= p.p_offset + p.p_filesz)
            continue;
        *bias = m->start - (p.p_vaddr - p.p_offset + m->offset);
        return true;
    }
    return false;
}

/* Gives the file to libdwfl, if it is the right one. */
static enum file_state report_file(struct symbols *s, const struct stats_module *m,
                                   const char *path) {
    int fd = open_file(path);
    if (fd < 0)
        return FILE_MISSING;
    enum file_state state = FILE_CHANGED;
    uint64_t bias = 0;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    bool good = elf && is_same(fd, m) && bias_of(elf, m, &bias);
    elf_end(elf);
    if (good && dwfl_report_elf(s->dwfl, m->path, path, fd, bias, true))
        return FILE_SAME; /* fd belongs to libdwfl now */
    close(fd);
    return state;
}

static enum file_state find_file(struct symbols *s, const struct stats_module *m) {
    char path[STATS_PATH + 64];
    if (m->path[0] != '/')
        return FILE_MISSING; /* [vdso], or a path that was cut ("...") */
    enum file_state state = report_file(s, m, m->path);
    if (state == FILE_SAME || s->file->life != LIFE_RUNS)
        return state;
    /* The process may live in another mount namespace. */
    snprintf(path, sizeof(path), "/proc/%u/root%s", s->file->header.pid, m->path);
    return report_file(s, m, path) == FILE_SAME ? FILE_SAME : state;
}

/* Several executable mappings of one file are one module to libdwfl. */
static const struct symbols_module *reported(const struct symbols *s,
                                             const struct stats_module *m) {
    for (unsigned i = 0; i < s->module_count; i++)
        if (strcmp(s->module[i].recorded->path, m->path) == 0)
            return &s->module[i];
    return NULL;
}

void symbols_modules(struct symbols *s) {
    const struct reader_file *r = s->file;
    dwfl_report_begin(s->dwfl);
    for (size_t i = 0; i < r->module_count; i++) {
        const struct stats_module *m = &r->modules[i];
        const struct symbols_module *before = reported(s, m);
        struct symbols_module *module = &s->module[s->module_count++];
        module->recorded = m;
        module->program = strcmp(m->path, r->header.program) == 0;
        module->file = before ? before->file : find_file(s, m);
    }
    dwfl_report_end(s->dwfl, NULL, NULL);
}

const struct symbols_module *symbols_module_at(const struct symbols *s, uint64_t pc) {
    for (unsigned i = 0; i < s->module_count; i++)
        if (pc >= s->module[i].recorded->start && pc < s->module[i].recorded->end)
            return &s->module[i];
    return NULL;
}
