/* SPDX-License-Identifier: MIT
 *
 * The folder of all pins: whose it may be, and its lock.  An attachment looks at the others and then makes
 * its own pin.  Under the lock no other one begins in between.
 *
 * Where all users may write to the BPF file system (mode 1777, its default), any user may make the folder
 * first.  Its owner could hold the lock for ever, and remove what is pinned.  So a folder counts only if it
 * is root's or the caller's, and closed to all others.  The file system is sticky: no other user can replace
 * such a folder.
 *
 * The lock is one of flock(2) on the folder, which only its owner may open: the kernel ends it with the
 * process.
 * The folder is made and removed under the lock only, so that no process locks a folder that is gone.
 */
#ifndef UNSTALL_ATTACH_PINS_LOCK_H
#define UNSTALL_ATTACH_PINS_LOCK_H

#include "target.h"

/* 0 if the folder may be used; -ENOENT: there is none; else -errno with a sentence. */
int pins_check(char error[ATTACH_ERROR]);

/* Makes the folder, and waits.  Its descriptor, or -errno with a sentence; -EINTR: a signal came. */
int pins_lock(char error[ATTACH_ERROR]);

/* Removes the folder if nothing is pinned.  An error of pins_lock() does nothing. */
void pins_unlock(int lock);

#endif
