/* SPDX-License-Identifier: MIT
 *
 * unstall: finds the verb and runs it.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "array.h"
#include "errors.h"
#include "program.h"

/* By what they are for; a line without a verb is the title of those behind it. */
static const struct {
    const char *title;
    const struct verb *verb;
} verbs[] = {
    {"Look", NULL},
    {NULL, &verb_scan},   {NULL, &verb_observe}, {NULL, &verb_explain}, {NULL, &verb_doctor},
    {"Cure", NULL},
    {NULL, &verb_run},    {NULL, &verb_enable},  {NULL, &verb_disable}, {NULL, &verb_set},
    {NULL, &verb_attach}, {NULL, &verb_detach},
    {"Watch", NULL},
    {NULL, &verb_status}, {NULL, &verb_top},     {NULL, &verb_report},  {NULL, &verb_metrics},
    {"Prove", NULL},
    {NULL, &verb_ab},
};

enum { VERBS = ARRAY_SIZE(verbs) };

static void print_overview(FILE *out) {
    fputs("Usage: unstall VERB [OPTION]... [ARGUMENT]...\n"
          "Removes the 40 ms stalls of Nagle's algorithm with delayed acknowledgements\n"
          "from programs, reports them, and measures the gain.\n",
          out);
    for (int i = 0; i < VERBS; i++)
        if (verbs[i].verb)
            fprintf(out, "  %-10s%s\n", verbs[i].verb->name, verbs[i].verb->summary);
        else
            fprintf(out, "\n%s:\n", verbs[i].title);
    fputs("\n"
          "  --help     this text; `unstall VERB --help` says more\n"
          "  --version  the version (-V)\n\n"
          "The manual: man unstall\n",
          out);
}

static const struct verb *find(const char *name) {
    for (int i = 0; i < VERBS; i++)
        if (verbs[i].verb && strcmp(verbs[i].verb->name, name) == 0)
            return verbs[i].verb;
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
        if (verbs[i].verb && args_distance(word, verbs[i].verb->name) < least) {
            nearest = verbs[i].verb;
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

/* A socket or a map of the kernel must not become standard output where the caller has closed it: the report
 * would be written there.  A program that is started finds it closed. */
static void occupy_closed(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1)
            (void)!open("/", O_PATH | O_CLOEXEC); /* the lowest number; to write there fails */
}

int main(int argc, char **argv) {
    occupy_closed();
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
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("unstall " UNSTALL_VERSION);
        return finish_output();
    }
    verb_now = find(word);
    if (!verb_now)
        return no_such_verb(word);
    return verb_now->run(argc - 1, argv + 1);
}
