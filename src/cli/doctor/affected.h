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
    const char *cure;     /* its own setting, or the change of source, that cures */
    /* The signs by which a program is recognised; NULL behind the last. */
    const char *programs[AFFECTED_SIGNS];  /* names of its program files */
    const char *words[AFFECTED_SIGNS];     /* in the text of a script that uses it */
    const char *libraries[AFFECTED_SIGNS]; /* how the name of a library begins that programs link */
};

/* The row of the table for a program, or NULL.  Of a script it reads the first 64 KiB.  A script that names
 * TCP_NODELAY in any form has found its cure: NULL. */
const struct affected *affected_find(const struct program *program, const struct elf_facts *file);

#endif
