/* SPDX-License-Identifier: MIT */
#include "args.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"

void print_help(FILE *out, const struct verb *verb) {
    fprintf(out, "Usage: unstall %s %s\n%s.\n\n%s\nThe manual: man unstall\n", verb->name,
            verb->usage, verb->summary, verb->help);
}

struct args args_begin(const struct verb *verb, int argc, char **argv) {
    return (struct args){.verb = verb, .argc = argc, .argv = argv, .at = 1};
}

static enum args_kind option_of(struct args *a, const char *word) {
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    a->option = word;
    a->attached = NULL;
    if (equals && (size_t)(equals - word) < sizeof(a->name)) {
        memcpy(a->name, word, (size_t)(equals - word));
        a->name[equals - word] = '\0';
        a->option = a->name;
        a->attached = equals + 1;
    }
    if (strcmp(a->option, "--help") == 0 || strcmp(a->option, "-h") == 0) {
        print_help(stdout, a->verb);
        exit(finish_output());
    }
    return ARGS_OPTION;
}

enum args_kind args_next(struct args *a) {
    if (a->at >= a->argc)
        return ARGS_END;
    const char *word = a->argv[a->at++];
    if (!a->only_words && strcmp(word, "--") == 0) {
        a->only_words = true;
        return args_next(a);
    }
    if (!a->only_words && word[0] == '-' && word[1])
        return option_of(a, word);
    a->word = word;
    return ARGS_WORD;
}

char **args_rest(struct args *a) {
    char **rest = a->argv + a->at - 1;
    a->at = a->argc;
    return rest;
}

bool args_flag(struct args *a, const char *name) {
    if (strcmp(a->option, name) != 0)
        return false;
    if (a->attached)
        exit(complain("%s=%s: takes no value; try --help", a->option, a->attached));
    return true;
}

bool args_value(struct args *a, const char *name, const char **value) {
    if (strcmp(a->option, name) != 0)
        return false;
    if (!a->attached && (a->at >= a->argc || strcmp(a->argv[a->at], "--") == 0))
        exit(complain("%s: needs a value; try --help", a->option));
    *value = a->attached ? a->attached : a->argv[a->at++];
    return true;
}

/* The option of the verb's help that is nearest to what was typed: the beginning of one, or two letters away
 * at most.  Empty: none is near, or two are. */
static void nearest_option(const struct args *a, char name[static 64]) {
    enum { NEAR = 3 };
    unsigned least = NEAR;
    size_t typed = strlen(a->option);
    name[0] = '\0';
    for (const char *line = a->verb->help; typed > 3 && *line; line += strcspn(line, "\n") + 1) {
        char option[64];
        size_t length = strcspn(line + 2, " =\n[");
        if (strncmp(line, "  --", 4) != 0 || length >= sizeof(option))
            continue;
        memcpy(option, line + 2, length);
        option[length] = '\0';
        unsigned distance = strncmp(option, a->option, typed) == 0 ? 0 : args_distance(a->option, option);
        if (distance < least || (distance == least && distance < NEAR)) {
            snprintf(name, sizeof(option), "%s", distance < least ? option : "");
            least = distance;
        }
    }
}

int args_unknown(const struct args *a) {
    char nearest[64];
    nearest_option(a, nearest);
    if (nearest[0])
        return complain("%s: no such option; did you mean %s? (--help lists all)", a->option, nearest);
    return complain("%s: no such option; try --help", a->option);
}

bool args_one_word(const struct args *a, const char *what, const char **word) {
    if (*word) {
        complain("%s: one %s at a time; try --help", a->word, what);
        return false;
    }
    *word = a->word;
    return true;
}

int args_no_word(const char *what) {
    return complain("no %s given; try --help", what);
}

bool args_take(struct args *a, const struct args_option *options) {
    for (const struct args_option *o = options; o->name; o++) {
        if (!o->flag && args_value(a, o->name, o->value))
            return true;
        if (o->flag && args_flag(a, o->name))
            return *o->flag = true;
    }
    return false;
}

bool args_all(const struct verb *verb, int argc, char **argv, const struct args_option *options,
              const char *what, const char **word) {
    struct args a = args_begin(verb, argc, argv);
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD && !args_one_word(&a, what, word))
            return false;
        if (kind == ARGS_OPTION && !args_take(&a, options)) {
            args_unknown(&a);
            return false;
        }
    }
    return true;
}

unsigned args_distance(const char *a, const char *b) {
    unsigned row[256];
    size_t length = strlen(b);
    if (length >= sizeof(row) / sizeof(row[0]))
        return UINT_MAX;
    for (unsigned i = 0; i <= length; i++)
        row[i] = i;
    for (unsigned n = 1; *a; a++, n++) {
        unsigned left_above = row[0];
        row[0] = n;
        for (size_t i = 0; i < length; i++) {
            unsigned change = left_above + (*a != b[i]);
            unsigned step = (row[i] < row[i + 1] ? row[i] : row[i + 1]) + 1;
            left_above = row[i + 1];
            row[i + 1] = change < step ? change : step;
        }
    }
    return row[length];
}

bool is_number(const char *text, long least, long most, long *out) {
    char *end = NULL;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || n < least || n > most)
        return false;
    *out = n;
    return true;
}

bool number_of(const char *what, const char *text, long least, long most, long *out) {
    if (is_number(text, least, most, out))
        return true;
    complain("%s %s: expected a whole number from %ld to %ld", what, text, least, most);
    return false;
}

bool seconds_of(const char *what, const char *text, double most, double *out) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
    char *end = NULL;
    double n = strtod(text, &end), seconds = 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (end != text && strcmp(end, units[i].name) == 0)
            seconds = n * units[i].seconds;
    if (!(seconds >= 0.1 && seconds <= most)) {
        complain("%s %s: expected seconds from 0.1 to %.9g, or a time as 500ms, 30s, 5m or 2h", what, text,
                 most);
        return false;
    }
    *out = seconds;
    return true;
}
