/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "launch.h"

static bool how_option(struct launch *l, struct args *a) {
    const char *how;
    if (!args_value(a, "--how", &how))
        return false;
    if (strcmp(how, "preload") == 0)
        l->how = HOW_PRELOAD;
    else if (strcmp(how, "seccomp") == 0)
        l->how = HOW_SECCOMP;
    else if (strcmp(how, "bpf") == 0)
        exit(complain("--how bpf: there is no such way any more; leave it out, and where run refuses the "
                      "program, start that without unstall and cure it as root by unstall attach PID"));
    else
        exit(complain("--how %s: expected preload or seccomp", how));
    return true;
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_run, argc, argv);
    struct launch l = {.how = HOW_CHOSEN, .settings = true};
    enum args_kind kind;
    while ((kind = args_next(&a)) == ARGS_OPTION)
        if (!how_option(&l, &a) && !args_value(&a, "--conf", &l.conf) && !launch_option(&l, &a))
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
    .help =
        "  --how WAY         preload: by the library alone; seccomp: and a supervisor\n"
        "                    that sets TCP_NODELAY. Without it: preload, or seccomp\n"
        "                    where that cannot work (Go, static programs)\n" LAUNCH_HELP
        "  --conf FILE       settings from this file, not from /etc/unstall.conf\n"
        "\n"
        "The program takes the place of the command: signals and exit code are\n"
        "its own. LD_PRELOAD of the caller is kept. Exit codes: 125 the command failed,\n"
        "126 the program cannot be run, 127 it was not found.\n",
    .run = run,
};
