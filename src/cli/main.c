/* SPDX-License-Identifier: MIT
 *
 * unstall: finds the verb and hands over.
 */
#include <stdio.h>
#include <string.h>

#include "common.h"

/* A verb whose file is not there yet is left out of the table. */
#pragma weak verb_observe
#pragma weak verb_report
#pragma weak verb_top
#pragma weak verb_metrics
#pragma weak verb_doctor
#pragma weak verb_explain
#pragma weak verb_set
#pragma weak verb_ab

static const struct verb *const verbs[] = {
    &verb_run,    &verb_observe, &verb_report, &verb_top, &verb_metrics,
    &verb_doctor, &verb_explain, &verb_set,    &verb_ab,
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static void print_overview(FILE *out) {
    fputs("Usage: unstall VERB [OPTION]... [ARGUMENT]...\n"
          "Takes the 40 ms of Nagle's algorithm against delayed acknowledgements away\n"
          "from programs, shows what it found, and proves what that is worth.\n\n",
          out);
    for (int i = 0; i < VERBS; i++)
        if (verbs[i])
            fprintf(out, "  %-10s%s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\n"
          "  --help     this text; `unstall VERB --help` says more\n"
          "  --version  the version\n\n"
          "The manual: man unstall\n",
          out);
}

static const struct verb *find(const char *name) {
    for (int i = 0; i < VERBS; i++)
        if (verbs[i] && strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
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
            return complain("%s: no such verb; try --help", argv[2]);
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
        return complain("%s: no such %s; try --help", word, word[0] == '-' ? "option" : "verb");
    return verb_now->run(argc - 1, argv + 1);
}
