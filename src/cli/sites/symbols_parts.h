/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the symboliser only.
 */
#ifndef UNSTALL_CLI_SYMBOLS_PARTS_H
#define UNSTALL_CLI_SYMBOLS_PARTS_H

#include <elfutils/libdwfl.h>

#include "perf_map.h"
#include "symbols.h"

struct symbols_module {
    const struct stats_module *recorded;
    enum file_state file;
    bool program; /* the executable itself */
};

struct symbols {
    const struct reader_file *file;
    Dwfl *dwfl;
    struct perf_map *map; /* NULL: the runtime has written none */
    const struct stats_write *now; /* the write that is being unwound */
    unsigned module_count;
    struct symbols_module module[STATS_MODULES];
};

/* Reports the modules' files to libdwfl. */
void symbols_modules(struct symbols *s);

/* The module that has this address, or NULL. */
const struct symbols_module *symbols_module_at(const struct symbols *s, uint64_t pc);

/* Names the code at pc. */
void symbols_name(struct symbols *s, uint64_t pc, struct frame *frame);

#endif
