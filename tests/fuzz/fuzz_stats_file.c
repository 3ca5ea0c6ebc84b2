/* SPDX-License-Identifier: MIT
 *
 * A sound statistics file, damaged: the input is a list of patches { place, index, offset, length,
 * bytes }.  The reader's result is printed in every form that the command has.
 * Nothing may be read beyond its end, overflow, or take long.
 */
#include <fcntl.h>
#include <gelf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "metrics.h"
#include "report.h"
#include "table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct stats_file *file, *sound;
static int fd;
static FILE *nowhere;

static const char *const lines[] = {
    "row 0 0 255 1 0 - 0",
    "row 1 2 255 1 4 127.0.0.1 8080",
    "row 2 1 0 5 6 ::1 80",
    "row 3 1 1 0 6 ::1 80",
    "exchange 1 44000000 96",
    "exchange 2 60000 4",
    "answer 2 600000000 4",
    "count 1 connections 1",
    "count 1 bursts 100",
    "count 1 bursts_of_3 100",
    "count 1 stalls_proved 96",
    "count 1 stalls_bound 10",
    "count 1 stall_bound_ns 4200000000",
    "count 2 peer_stalls 7",
    "count 3 stalls_cured 9",
    "connection 1 1 255 1 2000000000 0 127.0.0.1 8080 127.0.0.1 40000 100 44000000",
    "connection 5 2 0 5 2000000000 9 127.0.0.1 8080 127.0.0.1 40000 100 44000000",
    "module 400000 500000 0 aabbcc /usr/bin/false",
    "module 7f0000000000 7f0000100000 1000 aabbcc /lib/libunstall.so",
    "pattern 1 400123 400456 96 96 4200000000",
};

/* A small module with an existing file, so that stacks are unwound. */
static uint64_t add_real_module(struct stats_module *m) {
    static const char path[] = "/usr/bin/true";
    uint8_t head[STATS_HEAD] = {0};
    size_t count = 0;
    GElf_Phdr p;
    elf_version(EV_CURRENT);
    int elf_fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = elf_begin(elf_fd, ELF_C_READ, NULL);
    if (pread(elf_fd, head, sizeof(head), 0) > 0)
        m->head = stats_hash(0, head, sizeof(head));
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; elf && i < count; i++)
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X) {
            m->offset = p.p_offset;
            m->start = 0x10000000 + p.p_vaddr;
            m->end = m->start + p.p_memsz;
        }
    elf_end(elf);
    close(elf_fd);
    strcpy(m->path, path);
    m->state = STATS_VALID;
    return m->start + 0x400; /* somewhere in it */
}

static void begin(void) {
    fd = memfd_create("statistics file", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, STATS_BYTES) != 0)
        abort();
    file = mmap(NULL, STATS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    sound = calloc(1, STATS_BYTES);
    nowhere = fopen("/dev/null", "we");
    if (file == MAP_FAILED || !sound || !nowhere)
        abort();
    table_begin(sound);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!table_line(sound, lines[i]))
            abort();
    uint64_t code = add_real_module(&sound->module[2]);
    struct stats_occurrence *o = &sound->pattern[0].occurrence[0];
    sound->pattern[0].caller[0] = sound->pattern[0].caller[1] = code + 1;
    o->state = STATS_VALID;
    for (unsigned k = 0; k < 2; k++) {
        o->write[k].bytes = 100;
        o->write[k].stack_bytes = 4096;
        o->write[k].register_count = 17;
        o->write[k].registers[7] = 0x7ffe0000;
        o->write[k].registers[6] = 0x7ffe0100;
        o->write[k].registers[16] = code;
        for (size_t i = 0; i + 16 <= 4096; i += 16) {
            uint64_t frame[2] = {0x7ffe0000 + i + 64, code + i};
            memcpy(o->write[k].stack + i, frame, sizeof(frame));
        }
    }
    memcpy(file, sound, STATS_BYTES);
}

/* Where a patch may go: the parts that mean something are hit more often than by chance. */
static size_t place(uint8_t what, uint8_t index, uint16_t offset, size_t *room) {
    static const struct {
        size_t at, bytes, count;
    } places[] = {
        {offsetof(struct stats_file, header), sizeof(struct stats_header), 1},
        {offsetof(struct stats_file, control), sizeof(struct stats_control), 1},
        {offsetof(struct stats_file, row), sizeof(struct stats_row), STATS_ROWS},
        {offsetof(struct stats_file, connection), sizeof(struct stats_connection), 256},
        {offsetof(struct stats_file, module), sizeof(struct stats_module), STATS_MODULES},
        {offsetof(struct stats_file, pattern), sizeof(struct stats_pattern), STATS_PATTERNS},
        {offsetof(struct stats_file, pattern[0].occurrence[0].write[0].stack) - 320, 640, 1},
        {offsetof(struct stats_file, shard), sizeof(struct stats_shard),
         STATS_ROWS * STATS_SHARDS},
    };
    size_t n = what % (sizeof(places) / sizeof(places[0]));
    *room = places[n].bytes - offset % places[n].bytes;
    return places[n].at + index % places[n].count * places[n].bytes + offset % places[n].bytes;
}

enum { PATCH = 5 };

static void each_patch(const uint8_t *data, size_t size, bool undo) {
    while (size >= PATCH) {
        size_t room;
        size_t at = place(data[0], data[1], (uint16_t)(data[2] | data[3] << 8), &room);
        size_t length = data[4] % 64, left = size - PATCH;
        length = length > room ? room : length;
        length = length > left ? left : length;
        const void *from = undo ? (const void *)((const char *)sound + at) : data + PATCH;
        memcpy((char *)file + at, from, length);
        data += PATCH + length;
        size -= PATCH + length;
    }
}

static void tell(struct reader_file *r) {
    struct stats_files s = {.list = &r, .count = 1};
    const struct report about = {.files = &s};
    report_on(nowhere, &about, report_text);
    report_on(nowhere, &about, report_json);
    metrics_write(nowhere, &s, METRICS_OPEN);
    for (size_t i = 0; i < r->connection_count; i++)
        if (r->connections[i].row >= STATS_ROWS)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct reader_error error;
    if (!file)
        begin();
    each_patch(data, size, false);
    struct reader_file *r = reader_read_fd(fd, "fuzzed", READ_ALL, &error);
    if (r)
        tell(r);
    else if (!error.text[0] || strchr(error.text, '\n'))
        abort();
    reader_free(r);
    each_patch(data, size, true);
    return 0;
}
