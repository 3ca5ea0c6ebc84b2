/* SPDX-License-Identifier: MIT
 *
 * Which source is used.
 */
#ifndef UNSTALL_SCAN_CHOOSE_H
#define UNSTALL_SCAN_CHOOSE_H

#include "source.h"

/* The source with this name; NULL: the best one that may be used, with the reason in not_exact
 * where that is `sampled`.  NULL, and the reason in `error`, where there is none. */
void *scan_source_begin(const char *name, const struct scan_options *o,
                        const struct scan_source **source, char not_exact[SCAN_ERROR],
                        char error[SCAN_ERROR]);

#endif
