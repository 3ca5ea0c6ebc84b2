/* SPDX-License-Identifier: MIT
 *
 * unstall ab: runs the analysis, which is written in Python (src/analysis), and tells it the path of the
 * command.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "args.h"
#include "closing.h"
#include "errors.h"
#include "library.h"
#include "program.h"
#include "python.h"

/* Used by the analysis alone: LIBRARY and PROGRAM stand behind it; LIBRARY is empty without --library. */
#define PRELOAD_ENTRY "--preload-entry"

/* True if --help stands before the program under test. */
static bool asks_for_help(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* The signals that the caller ignores, for the programs that the analysis starts.  Python ignores others, and
 * needs SIGCHLD. */
static void list_ignored(char *option, size_t size) {
    struct sigaction now;
    int used = snprintf(option, size, "ignored=");
    for (int n = 1; n < NSIG && (size_t)used < size; n++)
        if (sigaction(n, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            used += snprintf(option + used, size - (size_t)used, " %d", n);
    signal(SIGCHLD, SIG_DFL);
}

/* What occupies the place of a standard file that the caller has closed (main.c) would not be left in Python,
 * which then has none, and an experiment's file would take its number.  Standard output still refuses to be
 * written to. */
static void keep_places(void) {
    const int ways[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        int nothing = fcntl(fd, F_GETFD) & FD_CLOEXEC ? open("/dev/null", ways[fd] | O_CLOEXEC) : -1;
        if (nothing >= 0)
            dup2(nothing, fd);
    }
}

/* The analysis asks how LD_PRELOAD is to name the library for this program, which `run` decides too. */
static int print_entry(const char *named, const char *word) {
    static struct preload_entry entry;
    static struct program program;
    struct elf_facts facts = {0};
    const char *library = library_find(named[0] ? named : NULL);
    if (!library)
        return EXIT_OWN;
    if (program_find(&program, word) == 0)
        elf_facts(program.file, &facts);
    preload_entry(&entry, library, &facts);
    puts(entry.listed);
    return finish_output();
}

static int ab(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], PRELOAD_ENTRY) == 0)
        return print_entry(argv[2], argv[3]);
    if (asks_for_help(argc, argv)) {
        print_help(stdout, &verb_ab);
        return finish_output();
    }
    keep_places();
    char self[PATH_MAX], analysis[PATH_MAX];
    if (!command_itself(self))
        return complain("/proc/self/exe: %s", strerror(errno));
    if (!python_part("analysis", analysis))
        return complain("the analysis is not in " CLI_PYTHON_FROM_BIN
                        "/analysis, relative to the folder of this command; install it (package "
                        "unstall-analysis, "
                        "or meson install)");
    enum { OURS = 9 };
    FREED const char **words = calloc((size_t)argc + OURS, sizeof(*words));
    if (!words)
        return complain("%s", strerror(ENOMEM));
    char ignored[sizeof("ignored=") + (size_t)NSIG * 3];
    list_ignored(ignored, sizeof(ignored));
    const char *ours[OURS] = {PYTHON, PYTHON_ALONE, "-X", ignored, analysis, "--unstall", self};
    memcpy(words, ours, sizeof(ours));
    for (int i = 1; i < argc; i++)
        words[OURS - 1 + i] = argv[i];
    execv(PYTHON, (char **)(void *)words);
    return complain(PYTHON ": %s; install python3 and python3-numpy", strerror(errno));
}

const struct verb verb_ab = {
    .name = "ab",
    .summary = "Prove by experiment whether it helps here, how much, and how best",
    .usage = "[OPTION]... [--] PROGRAM [ARGUMENT]...",
    .help = "Runs PROGRAM again and again, in rounds: each has every arm once, in random\n"
            "order. Compares exchange, wall and processor time, segments; says who wins, by\n"
            "how much and how sure that is.\n"
            "\n"
            "  --arms LIST        of bare (without the library), off, observe, nodelay, cork,\n"
            "                     coalesce, auto; with --live as in off:50,auto:50\n"
            "  --base ARM         what the others are compared with (off)\n"
            "  --rounds N         how many (20; with --until-sure at most 1000)\n"
            "  --time S           no round is begun that would not end within S seconds\n"
            "  --warmup N         rounds before that are not counted (1)\n"
            "  --until-sure       end as soon as the answer is clear\n"
            "  --metric NAME      mean, median, p90, p99, wall, cpu or score: the first four\n"
            "                     of the exchanges\n"
            "  --score REGEX      a number in the program's output; less is better\n"
            "  --confidence PCT   95\n"
            "  --margin PCT       a difference of less does not matter (10)\n"
            "  --seed N           repeat the order and assignment of an experiment\n"
            "  --json FILE        all that was measured, kept from round to round\n"
            "  --html FILE        a page with pictures\n"
            "  --count-calls      one more round under strace: system calls an exchange\n"
            "  --timeout S        the longest that one run may take\n"
            "  --ignore-failure   go on where a run fails\n"
            "  --show-output      of the program; else only the end of its stderr if it fails\n"
            "  --quiet            no progress bar\n"
            "\n"
            "A server as the subject: PROGRAM is the load, without the library.\n"
            "  --server COMMAND   started under each arm in turn\n"
            "  --ready PORT       the load begins when it listens there\n"
            "\n"
            "A live service: --live -- SERVER [ARGUMENT]..., or --live PID of one that runs.\n"
            "Each connection gets an arm by chance: by the library if it runs with\n"
            "UNSTALL_STATS; else, without the library, in the kernel (root, Linux 6.3; off\n"
            "and nodelay).\n"
            "  --live             (--time S: how long; else until Ctrl-C)\n"
            "  --unit NAME        instead of PID: of this unit of systemd, in the kernel\n"
            "  --container NAME   of the processes in this container, likewise\n"
            "  --cgroup PATH      of the processes in this cgroup, likewise\n"
            "  --assign BY        connection, peer or listener\n"
            "  --stop-if worse    the guard: all connections follow off as soon as an arm is\n"
            "                     surely slower than the base\n"
            "  --kill             with PID: all connections follow off, now\n"
            "  --min-exchanges N  exchanges after which a connection counts (20), or its end\n"
            "\n"
            "  --aa               off against off: does this set-up name false winners?\n"
            "  --merge FILE...    results, statistics files of many hosts, into one report\n"
            "\n"
            "  --library FILE     this libunstall.so instead of the installed one\n"
            "  --unstall FILE     this command, to read the statistics files\n"
            "\n"
            "Exit codes: 0 an answer, 2 not enough data, 3 the program failed, 4 results not\n"
            "written, 5 the guard stopped it, 6 --aa named a winner, 125 the command failed,\n"
            "126 the program cannot be run, 127 it was not found, 128+N ended by signal N.\n",
    .run = ab,
};
