/* SPDX-License-Identifier: MIT
 *
 * The end of a thread is the end of its turn, too.
 */
#ifndef UNSTALL_THREAD_END_H
#define UNSTALL_THREAD_END_H

/* Makes the library see the end of the calling thread.  hold_watch_reader() is for a read: it may run in
 * a signal handler. */
void hold_watch_thread_end(void);
void hold_watch_reader(void);

/* The calling thread ends (pthread_exit, cancellation, return). */
void hold_thread_ends(void);

#endif
