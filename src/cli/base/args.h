/* SPDX-License-Identifier: MIT
 *
 * The command line of a verb: options and words, one after the other.
 */
#ifndef UNSTALL_CLI_ARGS_H
#define UNSTALL_CLI_ARGS_H

#include <stdbool.h>
#include <stdio.h>

#include "verb.h"

/* Prints the help of a verb, in the form that all verbs share. */
void print_help(FILE *out, const struct verb *verb);

/* while ((kind = args_next(&a)) != ARGS_END) …
 *
 * Options and words come in any order: "--name value" and "--name=value".  After "--" each word is a
 * word, even if it looks like an option; "-" is a word.  args_next() answers --help itself. */
enum args_kind { ARGS_END, ARGS_OPTION, ARGS_WORD };

struct args {
    const struct verb *verb;
    int argc;
    char **argv;
    int at;               /* index of the next word */
    bool only_words;      /* after "--" */
    const char *option;   /* ARGS_OPTION: the name as typed, "--mode" (without "=value") */
    const char *word;     /* ARGS_WORD */
    const char *attached; /* the text after "=", or NULL */
    char name[64];
};

struct args args_begin(const struct verb *verb, int argc, char **argv);
enum args_kind args_next(struct args *a);

/* The present word and all after it: the command line of the program to start. */
char **args_rest(struct args *a);

/* True if the present option has this name.  args_flag: an option without a value; args_value: an option
 * with one.  A missing or superfluous value ends the command with EXIT_OWN and a complaint. */
bool args_flag(struct args *a, const char *name);
bool args_value(struct args *a, const char *name, const char **value);

/* Complains about an option that no args_flag or args_value has taken; returns EXIT_OWN. */
int args_unknown(const struct args *a);

/* For a verb that takes one word; `what` is its name in complaints: "DIR".  args_one_word() takes the present
 * word; false: it is the second one.  args_no_word() complains that there was none and returns EXIT_OWN. */
bool args_one_word(const struct args *a, const char *what, const char **word);
int args_no_word(const char *what);

/* An option without more ado: `flag` becomes true, or `value` what is behind it.  The last one of a list has
 * no name. */
struct args_option {
    const char *name;
    bool *flag;
    const char **value;
};

/* True if the present option is one of these. */
bool args_take(struct args *a, const struct args_option *options);

/* The whole command line of a verb that takes one word at most, or none (*word stays), and these options.
 * False, and a complaint: it is wrong. */
bool args_all(const struct verb *verb, int argc, char **argv, const struct args_option *options,
              const char *what, const char **word);

/* The Levenshtein distance: letters to remove, add or change to get from a to b. */
unsigned args_distance(const char *a, const char *b);

/* True, and *out, for a whole decimal number from least to most. */
bool is_number(const char *text, long least, long most, long *out);

/* The same, with a complaint about `what` ("--port") if it is not. */
bool number_of(const char *what, const char *text, long least, long most, long *out);

/* The same for a time of 0.1 to `most` seconds: "2.5", "500ms", "30s", "5m", "2h". */
bool seconds_of(const char *what, const char *text, double most, double *out);

#endif
