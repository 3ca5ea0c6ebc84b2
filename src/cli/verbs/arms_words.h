/* SPDX-License-Identifier: MIT
 *
 * The options of an experiment, of set and of attach.
 */
#ifndef UNSTALL_CLI_ARMS_WORDS_H
#define UNSTALL_CLI_ARMS_WORDS_H

#include "args.h"
#include "config.h"

struct arms_words {
    struct arms arms; /* .count 0: none */
    bool given;       /* --arms */
    bool seeded;      /* --seed */
};

/* Takes --arms, --assign or --seed.  False: the present option is none of them.  A wrong value ends the
 * command. */
bool arms_option(struct args *a, struct arms_words *w);

#endif
