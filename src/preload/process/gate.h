/* SPDX-License-Identifier: MIT
 *
 * The gate (lock.h): initialisation at the first call, repair in the child of a fork.
 */
#ifndef UNSTALL_GATE_H
#define UNSTALL_GATE_H

/* Every call passes through from now on, here and in children of fork. */
void gate_shuts_for_good(void);

#endif
