/* SPDX-License-Identifier: MIT
 *
 * Exit codes, and errors in the one form that all verbs share.
 */
#ifndef UNSTALL_CLI_ERRORS_H
#define UNSTALL_CLI_ERRORS_H

#include "verb.h"

/* The codes of env(1) and timeout(1); any other code is the program's own. */
enum {
    EXIT_OWN = 125,       /* the command itself failed, or its command line is wrong */
    EXIT_NOT_RUN = 126,   /* the program exists and cannot be run */
    EXIT_NOT_FOUND = 127, /* the program does not exist */
};

/* The running verb, with which each error begins.  NULL: the bare command. */
extern const struct verb *verb_now;

/* "unstall VERB: " and the message on stderr; returns EXIT_OWN.  A message has the form
 * "thing: reason; way out":
 *     return complain("%s: no such process; give the id of a running one", word); */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for a message that is no error. */
void remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes stdout.  0, or EXIT_OWN and a complaint if something was not written (a full disk).
 * A reader that has closed the pipe (`| head`) is no error. */
int finish_output(void);

#endif
