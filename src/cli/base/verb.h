/* SPDX-License-Identifier: MIT
 *
 * What a verb of the command is.  Each lives in a file of its own that defines
 * `const struct verb verb_NAME`; main.c has them in one table, and makes from
 * it `unstall --help` and, in one form for all, `unstall VERB --help`.
 */
#ifndef UNSTALL_CLI_VERB_H
#define UNSTALL_CLI_VERB_H

struct verb {
    const char *name;
    const char *summary; /* one line, for `unstall --help`; a sentence without its full stop */
    const char *usage;   /* what follows `unstall NAME`: "[OPTION]... [--] PROGRAM [ARGUMENT]..." */
    const char *help;    /* body of --help, ends in a newline: the options, and what else to know */
    /* argv[0] is the verb; returns the exit code. */
    int (*run)(int argc, char **argv);
};

#endif
