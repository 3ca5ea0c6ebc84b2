/* SPDX-License-Identifier: MIT */
#include "args.h"
#include "launch.h"
#include "verbs.h"

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_run, argc, argv);
    struct launch l = {0};
    enum args_kind kind;
    while ((kind = args_next(&a)) == ARGS_OPTION)
        if (!launch_option(&l, &a))
            return args_unknown(&a);
    if (kind == ARGS_WORD)
        l.argv = args_rest(&a);
    int refused = launch_prepare(&l);
    return refused ? refused : launch_exec(&l);
}

const struct verb verb_run = {
    .name = "run",
    .summary = "Run a program, cured",
    .usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .help = LAUNCH_HELP
    "\n"
    "The program takes the place of the command: signals and exit code are\n"
    "its own. LD_PRELOAD of the caller is kept. Exit codes: 125 the command failed,\n"
    "126 the program cannot be run, 127 it was not found.\n",
    .run = run,
};
