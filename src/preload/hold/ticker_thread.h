/* SPDX-License-Identifier: MIT
 *
 * The window's thread: lets go of what a computing thread has held longer than
 * the window, and sends buffered bytes that the kernel did not take at once.
 *
 * When it exists (UNSTALL_THREAD): coalesce needs it, because bytes in a buffer that
 * nothing empties are lost.  Other modes have it in a program with threads of its own
 * only.  A program with a single thread stays one; there the kernel's own timer bounds a
 * hold (200 ms), and policy holds by a proved habit alone (policy_limits.windowless).
 *
 * It starts at the first hold (raw_thread.h), ticks only while something is held, and
 * ends when nothing was held for a moment.
 *
 * Promise, where it exists: nothing is held longer than the window plus one tick and the
 * scheduler's delay.  The tick is the window (4 ms for longer windows), and 8 ms
 * while every hold ends by itself.
 */
#ifndef UNSTALL_TICKER_THREAD_H
#define UNSTALL_TICKER_THREAD_H

#include "ticker.h"

/* The process that has, or had, a window's thread; 0: none yet. */
extern int ticker_process;

/* Decide, before the first hold, or before the first buffering: start the thread, if it is
 * wanted.  Takes no connection's lock and must not be called under one. */
void ticker_decide(bool buffers);

/* End the thread and wait for its end; the next hold decides anew. */
void ticker_stop(void);

/* The same, and none is started until ticker_unbar(), which is given the result. */
uint32_t ticker_bar(void);
void ticker_unbar(uint32_t barred);

/* The number of tasks of this process; 0: it cannot be told. */
unsigned ticker_tasks(void);

/* The program has a thread of its own now: the next hold decides anew. */
void ticker_threads_seen(void);

/* The calling thread leaves by SYS_exit.  libc counts it on, so it will not end the process
 * behind the last of the others: from now on each thread's end stops ours. */
void ticker_task_exits(void);
void ticker_thread_ends(void);

/* In the child of a fork: there is one thread. */
void ticker_forked(void);

#endif
