/* SPDX-License-Identifier: MIT
 *
 * What all verbs share: exit codes, errors in one form, the words of a command
 * line, colours, the width of the terminal.
 */
#ifndef UNSTALL_CLI_COMMON_H
#define UNSTALL_CLI_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "verb.h"

/* As env(1) and timeout(1) have them; else the program's own. */
enum {
    EXIT_OWN = 125,       /* we have failed, or were asked for something wrong */
    EXIT_NOT_RUN = 126,   /* the program is there and cannot be run */
    EXIT_NOT_FOUND = 127, /* there is no such program */
};

/* The verb that runs: errors begin with it.  NULL: the bare command. */
extern const struct verb *verb_now;

/* "unstall VERB: " and the message on stderr; returns EXIT_OWN.  The form of a
 * message is "thing: reason; way out":
 *     return complain("%s: no such process; give the id of a running one", word); */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for what is no reason to stop. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Help in the form that all verbs share. */
void print_help(FILE *out, const struct verb *verb);

/* Everything on stdout has arrived there?  0, or EXIT_OWN and a complaint (a
 * full disk); a reader that has gone away (`| head`) is no error. */
int finish_output(void);

/* ---- the words of a command line ------------------------------------- */

/* while ((kind = args_next(&a)) != ARGS_END) …: options and words in any order,
 * "--name value" and "--name=value", "--" before words that look like options,
 * "-" is a word.  --help is dealt with here. */
enum args_kind { ARGS_END, ARGS_OPTION, ARGS_WORD };

struct args {
    const struct verb *verb;
    int argc;
    char **argv;
    int at;               /* the next word to look at */
    bool only_words;      /* "--" has been met */
    const char *option;   /* ARGS_OPTION: the name as typed, "--mode" (without "=value") */
    const char *word;     /* ARGS_WORD */
    const char *attached; /* behind "=", or NULL */
    char name[64];
};

struct args args_begin(const struct verb *verb, int argc, char **argv);
enum args_kind args_next(struct args *a);

/* For verbs that start a program: from the present word on, all belongs to it. */
char **args_rest(struct args *a);

/* Is the present option this one?  args_flag: it takes no value; args_value: it
 * takes one.  A value too many or too few is complained about and ends the command
 * with EXIT_OWN. */
bool args_flag(struct args *a, const char *name);
bool args_value(struct args *a, const char *name, const char **value);

/* What no args_flag or args_value has taken; returns EXIT_OWN. */
int args_unknown(const struct args *a);

/* A whole decimal number from least to most?  Else complains about `what`
 * ("--top", "port"), and returns false. */
bool number_of(const char *what, const char *text, long least, long most, long *out);

/* ---- the terminal ---------------------------------------------------- */

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN };

/* Are there colours on this stream?  Only on a terminal that is not dumb, and
 * never with a NO_COLOR that is not empty (no-color.org). */
bool has_colours(FILE *out);

/* The characters that begin a colour, PLAIN ends it: "" where there are none. */
const char *colour(FILE *out, enum colour c);

/* Columns of the terminal behind `out`; 80 where it is none or does not say. */
int terminal_width(FILE *out);

#endif
