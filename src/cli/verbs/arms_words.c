/* SPDX-License-Identifier: MIT */
#include "arms_words.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"

bool arms_option(struct args *a, struct arms_words *w) {
    static const char *const ways[] = {"connection", "peer", "listener"};
    const char *value;
    long n = 0;
    if (args_value(a, "--arms", &value)) {
        if (strcmp(value, "none") != 0 && !arms_parse(&w->arms, value))
            exit(complain("--arms %s: expected modes with weights, as in off:50,auto:50, or none",
                          value));
        return w->given = true;
    }
    if (args_value(a, "--assign", &value)) {
        while (n < 3 && strcmp(value, ways[n]) != 0)
            n++;
        if (n == 3)
            exit(complain("--assign %s: expected connection, peer or listener", value));
        w->arms.assignment = (uint32_t)n;
        return true;
    }
    if (!args_value(a, "--seed", &value))
        return false;
    if (!number_of("--seed", value, 0, 999999999, &n))
        exit(EXIT_OWN);
    w->arms.seed = (uint64_t)n;
    return w->seeded = true;
}
