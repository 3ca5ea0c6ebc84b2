/* SPDX-License-Identifier: MIT */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct verb *verb_now;

/* ---- saying ---------------------------------------------------------- */

/* On one line, and nothing that a terminal would obey: names come from anywhere. */
__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list arguments) {
    char *text = NULL;
    fflush(stdout); /* what was said before comes before */
    if (vasprintf(&text, format, arguments) < 0)
        return;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    fprintf(stderr, "unstall%s%s: %s\n", verb_now ? " " : "", verb_now ? verb_now->name : "", text);
    free(text);
}

int complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return EXIT_OWN;
}

void remark(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

void print_help(FILE *out, const struct verb *verb) {
    fprintf(out, "Usage: unstall %s %s\n%s.\n\n%s\nThe manual: man unstall\n", verb->name,
            verb->usage, verb->summary, verb->help);
}

int finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE)
        return 0;
    return complain("standard output: %s", strerror(errno));
}

/* ---- the words of a command line ------------------------------------- */

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
        exit(complain("%s: wants a value; try --help", a->option));
    *value = a->attached ? a->attached : a->argv[a->at++];
    return true;
}

int args_unknown(const struct args *a) {
    return complain("%s: no such option; try --help", a->option);
}

bool number_of(const char *what, const char *text, long least, long most, long *out) {
    char *end = NULL;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || n < least || n > most) {
        complain("%s: '%s' is no whole number from %ld to %ld", what, text, least, most);
        return false;
    }
    *out = n;
    return true;
}

/* ---- the terminal ---------------------------------------------------- */

bool has_colours(FILE *out) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (refused && refused[0])
        return false;
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(out));
}

const char *colour(FILE *out, enum colour c) {
    static const char *const begins[] = {
        [PLAIN] = "\033[0m",  [BOLD] = "\033[1m",    [DIM] = "\033[2m",   [RED] = "\033[31m",
        [GREEN] = "\033[32m", [YELLOW] = "\033[33m", [BLUE] = "\033[34m", [CYAN] = "\033[36m",
    };
    return has_colours(out) ? begins[c] : "";
}

int terminal_width(FILE *out) {
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}
