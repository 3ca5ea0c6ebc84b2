/* SPDX-License-Identifier: MIT
 *
 * The lock on the folder of all pins.  An attachment looks at the others and then makes its own pin.  Under
 * the lock no other one begins in between.
 *
 * The lock is one of flock(2) on the folder, which only root may open: the kernel ends it with the process.
 * The folder is made and removed under the lock only, so that no process locks a folder that is gone.
 */
#ifndef UNSTALL_ATTACH_PINS_LOCK_H
#define UNSTALL_ATTACH_PINS_LOCK_H

/* Makes the folder, and waits.  Its descriptor, or -errno; -EINTR: a signal came. */
int pins_lock(void);

/* Removes the folder if nothing is pinned.  An error of pins_lock() does nothing. */
void pins_unlock(int lock);

#endif
