/* SPDX-License-Identifier: MIT */
#include "stacks.h"

#include <fcntl.h>
#include <string.h>

#include "raw.h"

enum { BUFFER = 8192 };

/* Parses a hexadecimal number that ends with `end`. */
static bool number(const char **at, const char *most, char end, uint64_t *value) {
    const char *first = *at;
    for (*value = 0; *at < most; ++*at) {
        const char *digits = "0123456789abcdef", *digit = **at ? strchr(digits, **at) : NULL;
        if (!digit)
            break;
        *value = *value << 4 | (uint64_t)(digit - digits);
    }
    return *at > first && *at < most && *(*at)++ == end;
}

/* "start-end perms offset major:minor inode      path" (proc_pid_maps(5)) */
bool modules_parse(const char *line, size_t bytes, struct modules_line *out) {
    const char *at = line, *end = line + bytes;
    if (!number(&at, end, '-', &out->start) || !number(&at, end, ' ', &out->end) || end - at < 5)
        return false;
    out->executable = at[2] == 'x';
    at += 5;
    if (!number(&at, end, ' ', &out->offset))
        return false;
    while (at < end && *at != '/' && *at != '[') /* over device and inode */
        at++;
    out->path = at;
    out->path_bytes = (size_t)(end - at);
    return out->end > out->start;
}

static struct stats_module *room_for(struct stats_file *s, const struct modules_line *line) {
    for (unsigned i = 0; i < STATS_MODULES; i++) {
        struct stats_module *m = &s->module[i];
        if (m->state != STATS_VALID)
            return m;
        if (m->start == line->start && m->end == line->end)
            return NULL;
    }
    return NULL;
}

static void note_line(struct stats_file *s, const struct modules_line *line) {
    static uint64_t beginning; /* address of offset 0 of the present file */
    static uint8_t head[STATS_HEAD];
    if (line->path_bytes && line->offset == 0)
        beginning = line->start;
    if (!line->executable || line->path_bytes == 0)
        return; /* code of a JIT has no file; the reader recognises it by the missing module */
    struct stats_module *m = room_for(s, line);
    if (!m)
        return;
    m->start = line->start;
    m->end = line->end;
    m->offset = line->offset;
    size_t most = sizeof(m->path) - 1, cut = line->path_bytes > most ? line->path_bytes - most : 0;
    memset(m->path, 0, sizeof(m->path));
    memcpy(m->path, line->path + cut, line->path_bytes - cut);
    if (cut)
        memcpy(m->path, "...", 3);
    size_t there = snapshot_peek(head, beginning, sizeof(head));
    m->head = there == sizeof(head) ? stats_hash(0, head, there) : 0;
    STORE_RELEASE(&m->state, STATS_VALID);
}

void modules_note(struct stats_file *s) {
    static char buffer[BUFFER];
    size_t used = 0;
    long got, fd = raw4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return;
    while ((got = raw3(SYS_read, fd, buffer + used, BUFFER - used)) > 0) {
        used += (size_t)got;
        size_t at = 0;
        for (char *end; (end = memchr(buffer + at, '\n', used - at)) != NULL;) {
            struct modules_line line;
            if (modules_parse(buffer + at, (size_t)(end - (buffer + at)), &line))
                note_line(s, &line);
            at = (size_t)(end + 1 - buffer);
        }
        used = used - at < BUFFER ? used - at : 0; /* drops a line longer than the buffer */
        memmove(buffer, buffer + at, used);
    }
    raw1(SYS_close, fd);
}
