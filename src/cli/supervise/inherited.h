/* SPDX-License-Identifier: MIT
 *
 * TCP_NODELAY on the connections and listeners that this process has inherited.
 */
#ifndef UNSTALL_SUPERVISE_INHERITED_H
#define UNSTALL_SUPERVISE_INHERITED_H

void inherited_cure(void);

#endif
