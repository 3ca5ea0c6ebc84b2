/* SPDX-License-Identifier: MIT
 *
 * Who made a call: unwinds the stack that a segment has kept of it and names its
 * frames, by the files of the modules (libdwfl).  The process may be gone.  Nothing
 * is fetched from anywhere (debuginfod is switched off), and a file that
 * begins otherwise than the one that the process had mapped is not believed.
 */
#ifndef UNSTALL_CLI_SYMBOLS_H
#define UNSTALL_CLI_SYMBOLS_H

#include <stdbool.h>

#include "reader.h"

enum { FRAMES_MOST = 48, FRAME_NAME = 160 };

enum frame_kind {
    FRAME_PROGRAM,     /* the executable itself */
    FRAME_LIBRARY,     /* a shared object */
    FRAME_INTERPRETER, /* python3, libjvm.so, ...: the author is a script that we do not see */
    FRAME_NO_MODULE,   /* in no file: a JIT's code */
    FRAME_LIBC,
    FRAME_OURS,
};

enum file_state {
    FILE_SAME,
    FILE_CHANGED, /* it begins otherwise than the one that the process had mapped */
    FILE_MISSING,
};

struct frame {
    uint64_t pc;
    uint64_t offset; /* in the module, as addr2line(1) takes it */
    enum frame_kind kind;
    enum file_state file;
    char function[FRAME_NAME]; /* "" where it has no name */
    char source[FRAME_NAME];   /* "" where there is no DWARF; the file's last part */
    int line;                  /* 0: not known */
    char module[FRAME_NAME];   /* the file's last part; "" for FRAME_NO_MODULE */
};

/* From the innermost outward, those of libunstall and libc left out. */
struct trace {
    unsigned count;
    struct frame frame[FRAMES_MOST];
};

struct symbols;

/* Is it the name of an interpreter's executable, or of a library of one? */
bool is_interpreter(const char *name);

/* NULL: no memory.  `r` must stay. */
struct symbols *symbols_begin(const struct reader_file *r);
void symbols_end(struct symbols *s);

/* Of a write whose stack was kept. */
void symbols_trace(struct symbols *s, const struct stats_write *w, struct trace *trace);

/* Of a return address alone. */
void symbols_caller(struct symbols *s, uint64_t address, struct trace *trace);

const char *frame_kind_name(enum frame_kind kind);

#endif
