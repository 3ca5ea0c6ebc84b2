/* SPDX-License-Identifier: MIT
 *
 * unstall: finds the verb and runs it.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "array.h"
#include "errors.h"
#include "program.h"
#include "verbs.h"

static const struct verb *const verbs[] = {
    &verb_run,    &verb_observe, &verb_report, &verb_top,    &verb_metrics,
    &verb_doctor, &verb_explain, &verb_set,    &verb_ab,     &verb_scan,
    &verb_enable, &verb_disable, &verb_status, &verb_attach, &verb_detach,
};

enum { VERBS = ARRAY_SIZE(verbs) };

static void print_overview(FILE *out) {
    fputs("Usage: unstall VERB [OPTION]... [ARGUMENT]...\n"
          "Removes the 40 ms stalls of Nagle's algorithm with delayed acknowledgements\n"
          "from programs, reports them, and measures the gain.\n"
          "\n",
          out);
    for (int i = 0; i < VERBS; i++)
        fprintf(out, "  %-10s%s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\n"
          "  --help     this text; `unstall VERB --help` says more\n"
          "  --version  the version\n\n"
          "The manual: man unstall\n",
          out);
}

static const struct verb *find(const char *name) {
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

/* What the user may call it. */
static const struct {
    const char *word, *verb;
} other_names[] = {
    {"check", "doctor"},  {"diagnose", "doctor"}, {"cure", "run"},     {"start", "run"},  {"list", "status"},
    {"stats", "status"},  {"ps", "status"},       {"stop", "disable"}, {"off", "set"},    {"log", "report"},
};

/* Complains about a mistyped or missing verb, and suggests one. */
static int no_such_verb(const char *word) {
    struct program p;
    const struct verb *nearest = NULL;
    unsigned least = strlen(word) < 6 ? 2 : 3;
    long pid;
    if (word[0] == '-' && strcmp(word, "--") != 0)
        return complain("%s: no such option; try --help", word);
    if (is_number(word, 1, INT_MAX, &pid))
        return complain("%s: no such verb; for a process: unstall doctor %s", word, word);
    for (size_t i = 0; i < ARRAY_SIZE(other_names); i++)
        if (strcmp(word, other_names[i].word) == 0)
            return complain("%s: no such verb; did you mean %s? (--help lists all)", word,
                            other_names[i].verb);
    for (int i = 0; i < VERBS; i++)
        if (args_distance(word, verbs[i]->name) < least) {
            nearest = verbs[i];
            least = args_distance(word, nearest->name);
        }
    if (nearest && strlen(word) > 2)
        return complain("%s: no such verb; did you mean %s? (--help lists all)", word,
                        nearest->name);
    if (strcmp(word, "--") == 0)
        return complain("a verb is missing; to run a program: unstall run -- PROGRAM");
    if (program_find(&p, word) == 0)
        return complain("%s: no such verb; to run a program: unstall run -- %s", word, word);
    return complain("%s: no such verb; try --help", word);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        print_overview(stderr);
        return EXIT_OWN;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        verb_now = argc > 2 ? find(argv[2]) : NULL;
        if (argc > 2 && !verb_now)
            return no_such_verb(argv[2]);
        if (verb_now)
            print_help(stdout, verb_now);
        else
            print_overview(stdout);
        return finish_output();
    }
    if (strcmp(word, "--version") == 0) {
        puts("unstall " UNSTALL_VERSION);
        return finish_output();
    }
    verb_now = find(word);
    if (!verb_now)
        return no_such_verb(word);
    return verb_now->run(argc - 1, argv + 1);
}
