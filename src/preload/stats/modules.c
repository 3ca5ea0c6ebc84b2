/* SPDX-License-Identifier: MIT */
#include "modules.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>

#include "capture.h"
#include "raw.h"

enum { BUFFER = 8192, HEADERS_MOST = 32, NOTES_MOST = 1024 };

/* ---- lines ------------------------------------------------------------ */

static const char *hexadecimal(const char *at, const char *end, uint64_t *value) {
    *value = 0;
    for (; at < end; at++) {
        char c = *at;
        unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
        if (digit > 15 || (c > '9' && c < 'a'))
            break;
        *value = *value << 4 | digit;
    }
    return at;
}

/* "start-end perms offset major:minor inode      path" (proc_pid_maps(5)) */
bool modules_parse(const char *line, size_t bytes, struct modules_line *out) {
    const char *at = line, *end = line + bytes;
    at = hexadecimal(at, end, &out->start);
    if (at == end || *at++ != '-')
        return false;
    at = hexadecimal(at, end, &out->end);
    if (end - at < 6 || *at != ' ')
        return false;
    out->executable = at[3] == 'x';
    at = hexadecimal(at + 6, end, &out->offset);
    for (int fields = 0; fields < 3; fields++) { /* to the path: over device and inode */
        while (at < end && *at == ' ')
            at++;
        if (fields == 2)
            break;
        while (at < end && *at != ' ')
            at++;
    }
    out->path = at;
    out->path_bytes = (size_t)(end - at);
    return out->end > out->start;
}

/* ---- build ids --------------------------------------------------------- */

uint32_t modules_build_id(const uint8_t *notes, size_t bytes, size_t align,
                          uint8_t id[SEGMENT_BUILD_ID]) {
    size_t at = 0, mask = align == 8 ? 7 : 3;
    Elf64_Nhdr note;
    while (at + sizeof(note) <= bytes) {
        memcpy(&note, notes + at, sizeof(note));
        size_t name = at + sizeof(note);
        size_t text = (name + note.n_namesz + mask) & ~mask;
        size_t next = (text + note.n_descsz + mask) & ~mask;
        if (note.n_namesz > bytes || note.n_descsz > bytes || text + note.n_descsz > bytes)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + name, "GNU", 4) == 0) {
            uint32_t n = note.n_descsz < SEGMENT_BUILD_ID ? note.n_descsz : SEGMENT_BUILD_ID;
            memcpy(id, notes + text, n);
            return n;
        }
        at = next;
    }
    return 0;
}

/* Of the ELF file whose beginning is mapped at `base`. */
static uint32_t build_id_at(uintptr_t base, uint8_t id[SEGMENT_BUILD_ID]) {
    static Elf64_Phdr headers[HEADERS_MOST];
    static uint8_t notes[NOTES_MOST];
    Elf64_Ehdr elf;
    if (capture_peek(&elf, base, sizeof(elf)) != sizeof(elf) ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_phentsize != sizeof(headers[0]))
        return 0;
    size_t count = elf.e_phnum < HEADERS_MOST ? elf.e_phnum : HEADERS_MOST;
    size_t got = capture_peek(headers, base + elf.e_phoff, count * sizeof(headers[0]));
    count = got / sizeof(headers[0]);
    uint64_t bias = base;
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
            bias = base - headers[i].p_vaddr;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type != PT_NOTE)
            continue;
        size_t bytes = headers[i].p_filesz < NOTES_MOST ? headers[i].p_filesz : NOTES_MOST;
        bytes = capture_peek(notes, bias + headers[i].p_vaddr, bytes);
        uint32_t length = modules_build_id(notes, bytes, headers[i].p_align, id);
        if (length)
            return length;
    }
    return 0;
}

/* ---- the segment's table ----------------------------------------------- */

static struct segment_module *room_for(struct segment *s, const struct modules_line *line) {
    for (unsigned i = 0; i < SEGMENT_MODULES; i++) {
        struct segment_module *m = &s->module[i];
        if (m->state != SEGMENT_VALID)
            return m;
        if (m->start == line->start && m->end == line->end)
            return NULL;
    }
    return NULL;
}

static void set_path(struct segment_module *m, const struct modules_line *line) {
    size_t most = sizeof(m->path) - 1, n = line->path_bytes;
    memset(m->path, 0, sizeof(m->path));
    if (n <= most) {
        memcpy(m->path, line->path, n);
        return;
    }
    memcpy(m->path, "...", 3);
    memcpy(m->path + 3, line->path + (n - (most - 3)), most - 3);
}

static void note_line(struct segment *s, const struct modules_line *line) {
    static uint64_t base; /* where the file of the last lines begins */
    static char base_path[SEGMENT_PATH];
    static size_t base_path_bytes;
    bool known = line->path_bytes == base_path_bytes && base_path_bytes <= sizeof(base_path) &&
                 memcmp(line->path, base_path, base_path_bytes) == 0;
    if (!known || line->offset == 0) {
        base = line->offset == 0 ? line->start : 0;
        base_path_bytes = line->path_bytes;
        memcpy(base_path, line->path,
               line->path_bytes < sizeof(base_path) ? line->path_bytes : sizeof(base_path));
    }
    if (!line->executable || line->path_bytes == 0)
        return; /* code without a file is a JIT's: no module is how the reader knows */
    struct segment_module *m = room_for(s, line);
    if (!m)
        return;
    m->start = line->start;
    m->end = line->end;
    m->offset = line->offset;
    set_path(m, line);
    m->build_id_bytes = base ? build_id_at(base, m->build_id) : 0;
    STORE_RELEASE(&m->state, SEGMENT_VALID);
}

void modules_note(struct segment *s) {
    static char buffer[BUFFER];
    size_t used = 0;
    long fd = raw4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    for (;;) {
        long got = raw3(SYS_read, fd, buffer + used, BUFFER - used);
        if (got <= 0)
            break;
        used += (size_t)got;
        size_t at = 0;
        for (char *end; (end = memchr(buffer + at, '\n', used - at)) != NULL;) {
            struct modules_line line;
            size_t length = (size_t)(end - (buffer + at));
            if (modules_parse(buffer + at, length, &line))
                note_line(s, &line);
            at += length + 1;
        }
        memmove(buffer, buffer + at, used - at);
        used = used - at < BUFFER ? used - at : 0; /* a line longer than the buffer: none is */
    }
    raw1(SYS_close, fd);
}
