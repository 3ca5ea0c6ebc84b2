/* SPDX-License-Identifier: MIT
 *
 * Chooses the source.
 */
#ifndef UNSTALL_SCAN_CHOOSE_H
#define UNSTALL_SCAN_CHOOSE_H

#include "source.h"

/* Begins the source with this name.  name == NULL: begins `exact`, or `sampled` if that fails, with the
 * reason in not_exact.  Returns the source's state, or NULL with the reason in `error`. */
void *scan_source_begin(const char *name, const struct scan_options *o,
                        const struct scan_source **source, char not_exact[SCAN_ERROR],
                        char error[SCAN_ERROR]);

#endif
