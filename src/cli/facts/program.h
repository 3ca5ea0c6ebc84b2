/* SPDX-License-Identifier: MIT
 *
 * From the name that somebody types to the file that the kernel runs: $PATH, and
 * the #! lines of scripts, also through env(1).
 */
#ifndef UNSTALL_CLI_PROGRAM_H
#define UNSTALL_CLI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

struct program {
    const char *name;      /* as typed */
    char path[PATH_MAX];   /* what execve(2) gets */
    char script[PATH_MAX]; /* the last script on the way, or "" */
    char file[PATH_MAX];   /* what runs in the end: `path`, or a script's interpreter */
    bool by_shell;         /* a text without #!: execvp(3) gives it to /bin/sh */
    bool env_cleared;      /* a script's `env -i` throws LD_PRELOAD away */
};

/* 0, or -errno about `file`, the last one looked for: not there (ENOENT), there but
 * not to be run (any other). */
int program_find(struct program *p, const char *name);

/* Says that it cannot be run; `error` as errno has it.  EXIT_NOT_FOUND or EXIT_NOT_RUN. */
int program_complain(const struct program *p, int error);

#endif
