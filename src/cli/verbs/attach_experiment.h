/* SPDX-License-Identifier: MIT
 *
 * unstall attach as the carrier of an experiment of `unstall ab --live`: it gives arms to connections and
 * prints its measurements, a line of JSON at a time, in the words of `unstall report --json`.
 */
#ifndef UNSTALL_CLI_ATTACH_EXPERIMENT_H
#define UNSTALL_CLI_ATTACH_EXPERIMENT_H

#include <signal.h>

#include "arms_words.h"
#include "attach.h"
#include "experiment.h"

/* 0, or EXIT_OWN and a complaint: the kernel has the arms off and nodelay only. */
int experiment_asked(const struct arms_words *w, struct attach_experiment *e);

/* Prints what is new.  False: nobody reads it any more, or for five seconds after `stop` was set. */
bool experiment_tell(struct experiment *e, const volatile sig_atomic_t *stop);

#endif
