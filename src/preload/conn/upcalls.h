/* SPDX-License-Identifier: MIT
 *
 * Calls go downward, but for these: functions that this folder calls and a higher one
 * defines.  tests/house/test_layers.py holds the list to what is needed.
 */
#ifndef UNSTALL_UPCALLS_H
#define UNSTALL_UPCALLS_H

#include "base.h"

struct conn;

/* What to do when the gate is not open: initialise, or repair after fork.
 * True: now open.  False: pass the call through untouched.
 * Reason: any call of the process may be its first, or the first of a forked child; which
 * one it is shows only where the gate is looked at.  Defined in process/. */
bool gate_slow(void);

/* The place of c is about to be another connection's: its statistics end, and its evidence
 * is given back.  Lock held.
 * Reason: a close that passed us by shows only when the number is born again.  Defined in
 * stats/. */
void conn_ends(struct conn *c);

/* c is a copy that fork made: its evidence points nowhere.  Lock held.
 * Reason: a child repairs a connection at the first lock, wherever that is taken.  Defined in
 * stats/. */
void conn_repaired(struct conn *c);

#endif
