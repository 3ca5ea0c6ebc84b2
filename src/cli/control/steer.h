/* SPDX-License-Identifier: MIT
 *
 * Changing the configuration of a live process, through the control block of its
 * segment: `unstall set`, and the keys of `unstall top`.
 */
#ifndef UNSTALL_CLI_STEER_H
#define UNSTALL_CLI_STEER_H

#include <stdbool.h>
#include <stdint.h>

#include "arms.h"
#include "reader.h"

enum { STEER_AS_IS = -1, STEER_AS_STARTED = CONTROL_KEEP, WINDOW_AS_STARTED = 0 };

/* What is to change; STEER_AS_IS leaves a member as it is. */
struct steer {
    int mode;      /* enum stats_mode or STEER_AS_STARTED; ends an experiment's arms */
    int window_us; /* or WINDOW_AS_STARTED */
    int killed;    /* 1: everything by `off`, experiment or not; 0: no more */
    /* NULL: as they are.  A new experiment, for connections born from now on; a count of 0
     * ends it, and leaves the mode as it is. */
    const struct arms *arms;
};

/* Write the change into the segment.  The sequence to wait for (> 0), or -1 and `error`.
 * `arms`, where not NULL: how many arms of an experiment it has ended. */
int64_t steer(const struct reader_file *s, const struct steer *change, unsigned *arms,
              struct reader_error *error);

enum steer_outcome {
    STEER_TAKEN, /* the library has adopted it */
    STEER_WAITS, /* it will with its next message: there was none meanwhile */
    STEER_ENDED, /* the process has ended */
};

/* Wait for at most so many ms; `header` is what the segment says then. */
enum steer_outcome steer_wait(const struct reader_file *s, int64_t sequence, int ms,
                              struct stats_header *header);

/* "off" -> STATS_MODE_OFF, "started" -> STEER_AS_STARTED; STEER_AS_IS: no mode. */
int steer_mode(const char *word);

#endif
