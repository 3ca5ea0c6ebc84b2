/* SPDX-License-Identifier: MIT
 *
 * From the name that the user types to the file that the kernel runs: $PATH and the #! lines of scripts,
 * also through env(1).
 */
#ifndef UNSTALL_CLI_PROGRAM_H
#define UNSTALL_CLI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

struct program {
    const char *name;      /* as typed */
    char path[PATH_MAX];   /* the argument of execve(2) */
    char script[PATH_MAX]; /* the last script on the way, or "" */
    char file[PATH_MAX];   /* the file that runs: `path`, or a script's interpreter */
    bool by_shell;         /* a text without #!: execvp(3) runs it by /bin/sh */
    bool env_cleared;      /* a script's `env -i` removes LD_PRELOAD */
};

/* 0, or -errno about `file`, the last file searched for: -ENOENT it does not exist; any other: it cannot be
 * run. */
int program_find(struct program *p, const char *name);

/* Complains that it cannot be run, for this errno.  Returns EXIT_NOT_FOUND or EXIT_NOT_RUN. */
int program_complain(const struct program *p, int error);

#endif
