/* SPDX-License-Identifier: MIT
 *
 * Comma lists of names, ports and addresses.  Pure.
 */
#ifndef UNSTALL_CONFIG_LIST_H
#define UNSTALL_CONFIG_LIST_H

#include "base.h"

/* The next item of a comma list: its start and length, and whether a ! leads
 * it.  False at the end of the list. */
bool config_next_item(const char **list, const char **item, size_t *length, bool *exclude);

#endif
