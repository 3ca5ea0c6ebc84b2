/* SPDX-License-Identifier: MIT
 *
 * Changes the configuration of a live process through the control block of its statistics file:
 * `unstall set`, and the keys of `unstall top`.
 */
#ifndef UNSTALL_CLI_STEER_H
#define UNSTALL_CLI_STEER_H

#include <stdint.h>

#include "args.h"
#include "config.h"
#include "reader.h"

enum { STEER_AS_IS = -1, STEER_AS_STARTED = CONTROL_KEEP, WINDOW_AS_STARTED = 0 };

/* A change; STEER_AS_IS leaves a member unchanged. */
struct steer {
    int mode;      /* enum stats_mode or STEER_AS_STARTED; it ends an experiment */
    int window_us; /* or WINDOW_AS_STARTED */
    int killed;    /* 1: `off` for all connections, also in an experiment; 0: takes that back */
    /* A new experiment for connections made from now on; a count of 0 ends the present one and keeps the
     * mode.  NULL: no change. */
    const struct arms *arms;
};

/* Writes the change into the statistics file.  The sequence to wait for (> 0), or -1 and `error`.  *arms,
 * if not NULL, is the number of arms of the experiment that it ended. */
int64_t steer(const struct reader_file *s, const struct steer *change, unsigned *arms,
              struct reader_error *error);

enum steer_outcome {
    STEER_TAKEN, /* the library has adopted it */
    STEER_WAITS, /* there was no message yet: the library adopts it at the next one */
    STEER_ENDED, /* the process has ended */
};

/* Waits for at most so many ms; `header` is the statistics file's header after that. */
enum steer_outcome steer_wait(const struct reader_file *s, int64_t sequence, int ms,
                              struct stats_header *header);

/* "off" -> STATS_MODE_OFF, "started" -> STEER_AS_STARTED; STEER_AS_IS if the word is no mode. */
int steer_mode(const char *word);

/* The options of an experiment, of set and of attach. */
struct arms_words {
    struct arms arms; /* .count 0: none */
    bool given;       /* --arms */
    bool seeded;      /* --seed */
};

/* Takes --arms, --assign or --seed.  False: the present option is none of them.  A wrong value ends the
 * command. */
bool arms_option(struct args *a, struct arms_words *w);

#endif
