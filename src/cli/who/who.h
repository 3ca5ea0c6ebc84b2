/* SPDX-License-Identifier: MIT
 *
 * Finds the code that writes the pieces, in the program's own language: stops the writing thread at its
 * first and at its second write, and asks the runtime's own tool for the thread's stack (py-spy for Python,
 * jcmd for a JVM, rbspy for Ruby).
 *
 * A process apart does that by ptrace(2): if it fails or is killed, the program goes on.  It ends when
 * it has seen both writes of a message, after LOOK_SECONDS, or after LOOKS_MOST questions.  Each question
 * stops one thread for as long as the tool takes; nothing in the program is changed.
 */
#ifndef UNSTALL_CLI_WHO_H
#define UNSTALL_CLI_WHO_H

#include "sites.h"

enum { WHO_FRAMES = 32, WHO_NAME = 120, WHO_NOTE = 300 };
enum { LOOK_SECONDS = 10, TOOL_SECONDS = 5, LOOKS_MOST = 8 };

struct who {
    bool known;             /* both writes were found */
    unsigned questions;     /* that the tool was asked, while a thread was stopped */
    bool behind;            /* the second one began a message, while the first was not acknowledged */
    char tool[32];          /* its name: "py-spy", "jcmd" */
    char note[WHO_NOTE];    /* if not `known`: the reason; "": the look was ended before */
    struct site site; /* of both writes */
};

/* Begins to look at a process that runs, or will run in a moment.  NULL: no memory. */
struct who *who_begin(pid_t pid);

/* Ends the look.  The answer stays in `w` until who_free(). */
void who_end(struct who *w);
void who_free(struct who *w);

/* "As py-spy tells, the first piece (200 bytes) is written by send (server.py:3); …", or the note. */
void who_prose(struct prose *p, const struct who *w);

/* For a program whose script is not named: a sentence with the tool that would name it, and the command that
 * asks the tool; `target` is how that names the program, " 4711" or " -- ./app".  False: none is known. */
bool who_advice(struct prose *p, const char *program, const char *target);

/* The member "runtime" of the report: null without --who. */
void who_json(struct json *j, const struct who *w);

#endif
