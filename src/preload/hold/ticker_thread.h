/* SPDX-License-Identifier: MIT
 *
 * The window's thread: pushes bytes that a computing thread has held longer than
 * the window, and sends buffered bytes that the kernel did not take at once.
 *
 * docs/design.md, "The window", says when it exists, starts, ticks and ends.  Mode coalesce needs it, because
 * buffered bytes that no thread sends are lost.  A program with a single thread stays single-threaded.
 */
#ifndef UNSTALL_TICKER_THREAD_H
#define UNSTALL_TICKER_THREAD_H

#include "ticker.h"

/* The id of the process that has, or had, a window's thread; 0: none yet. */
extern INTERNAL int ticker_process;

/* Runs before the first hold or the first buffered write, which is number `position` of its turn, from 1:
 * starts the thread if the program needs it.  Where it stays undecided (TICKER_NONE), nothing may be held
 * now.  Takes no connection's lock; the caller must hold none. */
void ticker_decide(bool buffers, unsigned position);

/* Ends the thread and waits for its end.  The next hold decides again.  True: it ran. */
bool ticker_stop(void);

/* The same, and the thread does not start until ticker_unbar(), which takes the result.  `rights`: for a
 * change of rights.  In a program with threads it then starts no sooner than 100 ms after ticker_unbar(), and
 * after the sixteenth such stop it starts no more. */
uint32_t ticker_bar(bool rights);
void ticker_unbar(uint32_t barred);

/* True if the thread has this id. */
bool ticker_is_task(long task);

/* True if a connection has unsent buffered bytes, for which the kernel had no room. */
bool ticker_has_left(void);

/* The thread was stopped and the process goes on: it starts again for such bytes. */
void ticker_goes_on(void);

/* Returns the number of tasks of this process; 0: unknown. */
unsigned ticker_tasks(void);

/* The program has a thread of its own now: the next hold decides again. */
void ticker_threads_seen(void);

/* The calling thread ends by SYS_exit.  libc still counts it, so libc will not end the process
 * after the last other thread.  From now on the end of each thread stops the window's thread. */
void ticker_task_exits(void);
void ticker_thread_ends(void);

/* Runs in the child of a fork, which has one thread. */
void ticker_forked(void);

#endif
