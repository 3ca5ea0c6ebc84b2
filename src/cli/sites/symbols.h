/* SPDX-License-Identifier: MIT
 *
 * The frames of a call: unwinds the stack snapshot in a statistics file and names its frames by the files of
 * the modules (libdwfl).  The process may have ended.
 *
 * Nothing is fetched from a server (debuginfod is switched off).  A file is used only if its first bytes
 * equal the first bytes of the file that the process had mapped.
 */
#ifndef UNSTALL_CLI_SYMBOLS_H
#define UNSTALL_CLI_SYMBOLS_H

#include "reader.h"

enum { FRAMES_MOST = 48, FRAME_NAME = 160 };

enum frame_kind {
    FRAME_PROGRAM,     /* the executable itself */
    FRAME_LIBRARY,     /* a shared object */
    FRAME_INTERPRETER, /* python3, libjvm.so: the author is a script, whose lines are not known */
    FRAME_SCRIPT,      /* code of a JIT that the runtime has named (perf_map.h) */
    FRAME_NO_MODULE,   /* in no file: code of a JIT */
    FRAME_LIBC,
    FRAME_OURS,
};

enum file_state {
    FILE_SAME,
    FILE_CHANGED, /* its first bytes differ from those of the mapped file */
    FILE_MISSING,
};

struct frame {
    uint64_t pc;
    uint64_t offset; /* in the module, for addr2line(1) */
    enum frame_kind kind;
    enum file_state file;
    bool of_runtime;           /* FRAME_SCRIPT, in a module that comes with the runtime */
    char function[FRAME_NAME]; /* "": it has no name */
    char source[FRAME_NAME];   /* last part of the path; "" without DWARF */
    int line;                  /* 0: not known */
    char module[FRAME_NAME];   /* last part of the path; "" for FRAME_SCRIPT and FRAME_NO_MODULE */
};

/* From the innermost frame outward, without the frames of libunstall and libc. */
struct trace {
    unsigned count;
    struct frame frame[FRAMES_MOST];
};

struct symbols;

/* True for the name of an interpreter or of an interpreter's library. */
bool is_interpreter(const char *name);

/* NULL: no memory.  `r` must outlive the result. */
struct symbols *symbols_begin(const struct reader_file *r);
void symbols_end(struct symbols *s);

/* The trace of a write with a stack snapshot. */
void symbols_trace(struct symbols *s, const struct stats_write *w, struct trace *trace);

/* The trace of a return address: one frame at most. */
void symbols_caller(struct symbols *s, uint64_t address, struct trace *trace);

const char *frame_kind_name(enum frame_kind kind);

#endif
