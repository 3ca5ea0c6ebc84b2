/* SPDX-License-Identifier: MIT
 *
 * The exceptions to the rule that calls go downward: functions that this folder calls and a
 * higher folder defines.  tests/house/test_layers.py rejects an entry that is not needed.
 */
#ifndef UNSTALL_UPCALLS_H
#define UNSTALL_UPCALLS_H

#include "base.h"

struct conn;

/* The gate is not open: initialise, or repair after fork.
 * True: now open.  False: pass the call through unchanged.
 * Reason: any call may be the first of the process or of a forked child; only the check of the
 * gate shows it.  Defined in process/gate.c. */
bool gate_slow(void);

/* This thread takes its first lock, or is about to read: makes its part of a lock's word, and has its end
 * seen, because a thread that is cancelled asynchronously may hold a lock.  It may run in a signal handler.
 * Reason: any call may take the first lock of a thread, in any folder.  Defined in hold/turn.c. */
void thread_may_lock(void);

/* The struct of c will be used for another connection: end its statistics and free its
 * evidence.  Lock held.
 * Reason: a close that passed us by shows only when the number is used again.  Defined in
 * stats/tally.c. */
void conn_ends(struct conn *c);

/* Calls that could not have the lock of c have set this aside (enum conn_aside).  Lock held.  Afterwards c
 * may be no connection any more.
 * Reason: the holder of the lock makes up for it, in any folder.  Defined in
 * shim/options.c. */
void conn_missed(struct conn *c, unsigned what);

/* Bytes of c wait for room in the kernel, or for its end: the window's thread is to look after them.  Lock
 * held.
 * Reason: the holder of the lock sends what was set aside, in any folder.  Defined in
 * hold/window.c. */
void conn_waits(struct conn *c);

/* c is a copy made by fork: its evidence is not valid here.  Lock held.
 * Reason: a child repairs a connection at its first lock, in any folder.  Defined in
 * stats/evidence.c. */
void conn_repaired(struct conn *c);

#endif
