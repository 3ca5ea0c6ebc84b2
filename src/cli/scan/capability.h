/* SPDX-License-Identifier: MIT
 *
 * Capabilities of this process (capabilities(7)).
 */
#ifndef UNSTALL_SCAN_CAPABILITY_H
#define UNSTALL_SCAN_CAPABILITY_H

#include <linux/capability.h>
#include <stdbool.h>

/* True if the effective set has `which`, CAP_BPF and its like, in the host's user namespace: in that of a
 * rootless container it allows nothing of what we need. */
bool has_capability(unsigned which);

/* Why they are missing: "it needs CAP_BPF and CAP_PERFMON, for instance as root". */
const char *capability_lack(const char *names);

#endif
