/* SPDX-License-Identifier: MIT */
#include "choose.h"

#include <stdio.h>
#include <string.h>

void *scan_source_begin(const char *name, const struct scan_options *o,
                        const struct scan_source **source, char not_exact[SCAN_ERROR],
                        char error[SCAN_ERROR]) {
    bool exact = name && strcmp(name, "exact") == 0;
    not_exact[0] = '\0';
    if (exact || !name) {
        *source = &scan_exact;
        void *state = scan_exact.begin(o, not_exact);
        if (state)
            return state;
        if (exact) {
            snprintf(error, SCAN_ERROR, "--source exact: %.180s; --source sampled needs no privilege",
                     not_exact);
            return NULL;
        }
    }
    *source = &scan_sampled;
    return scan_sampled.begin(o, error);
}
