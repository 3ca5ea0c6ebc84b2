/* SPDX-License-Identifier: MIT
 *
 * The lock on the folder of all pins.  Between the look at what is attached and the pin by which others see a
 * new attachment, no other attachment begins.
 *
 * The lock is one of flock(2) on the folder, which only root may open: the kernel ends it with the process.
 * The folder is made and removed under the lock only, so that nobody locks a folder that is gone.
 */
#ifndef UNSTALL_ATTACH_PINS_LOCK_H
#define UNSTALL_ATTACH_PINS_LOCK_H

/* Makes the folder, and waits.  Its descriptor, or -errno; -EINTR: a signal came. */
int pins_lock(void);

/* Removes the folder if nothing is pinned.  An error of pins_lock() does nothing. */
void pins_unlock(int lock);

#endif
