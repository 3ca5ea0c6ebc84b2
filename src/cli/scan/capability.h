/* SPDX-License-Identifier: MIT
 *
 * Capabilities of this process (capabilities(7)).
 */
#ifndef UNSTALL_SCAN_CAPABILITY_H
#define UNSTALL_SCAN_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

/* True if the effective set has `which`: CAP_BPF and its like. */
bool has_capability(unsigned which);

#endif
