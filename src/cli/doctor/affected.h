/* SPDX-License-Identifier: MIT
 *
 * Software that is known to stall: docs/affected.md.
 */
#ifndef UNSTALL_CLI_AFFECTED_H
#define UNSTALL_CLI_AFFECTED_H

#include "elf_facts.h"
#include "program.h"

enum { AFFECTED_SIGNS = 4 };

struct affected {
    const char *software; /* its name, and the part that stalls */
    const char *cure;     /* the setting of the software, or the change of its source, that cures it */
    /* The signs by which a program is recognised; NULL behind the last. */
    const char *programs[AFFECTED_SIGNS];  /* names of its program files */
    const char *words[AFFECTED_SIGNS];     /* in the text of a script that uses it */
    const char *libraries[AFFECTED_SIGNS]; /* beginnings of the names of libraries that programs link */
};

/* The row of the table for a program, or NULL.  It reads the first 64 KiB of a script.  NULL also for a
 * script that contains TCP_NODELAY in any form, because it is cured already. */
const struct affected *affected_find(const struct program *program, const struct elf_facts *file);

#endif
