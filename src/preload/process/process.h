/* SPDX-License-Identifier: MIT
 *
 * The life of the process: initialisation, forks, new programs, the end.
 */
#ifndef UNSTALL_PROCESS_H
#define UNSTALL_PROCESS_H

#include <sys/syscall.h>
#include <sys/types.h>

#include "base.h"

/* Before a call that makes a child which shares our connections, and after it, in parent and child: with its
 * result, and that of process_forks(). */
uint32_t process_forks(void);
pid_t process_forked(pid_t result, uint32_t barred);
/* The application makes a thread; after that a thread of ours is no visible change. */
void process_gets_threads(void);
/* The kernel refused a task of the program (EAGAIN).  True: a thread of ours has ended, or may have. */
bool process_stops_window_for_task(void);
/* The window's thread had to end for a moment: watch again the connections with unsent buffered bytes. */
void process_restarts_window(void);
/* Before clone(2) with these flags, and before clone3(2) with these arguments.  For process_forked(). */
uint32_t process_clones(unsigned long flags);
uint32_t process_clones_by(const void *arguments);
/* True: the caller's memory may be read before its call.  In `off`, after a filter of the program's own, and
 * where we pass everything on, no call of ours asks: true only where it is certain without one. */
bool process_may_read(const void *start, size_t bytes);
/* Before the calling thread gets a descriptor table of its own. */
void process_unshares_table(void);
/* Before a call that runs another program, here or in a child that the same call
 * makes: surviving sockets get the application's options back. */
void process_runs_program(void);
/* Before this image is replaced: also writes the report.  process_exec_failed(): the call failed. */
void process_is_replaced_by(const char *file); /* in PATH, as execvp(3) searches */
void process_is_replaced_at(int fd, const char *path); /* of execveat(2); NULL: by the file that fd is */
int process_exec_failed(int result);
/* Before the process ends, with or without exit handlers. */
void process_ends(void);
/* Around the installation of a seccomp filter, or of strict mode, which forbids even reading a clock. */
void process_filters(bool strict);
void process_filtered(bool installed);
/* As process_filters(), before Syscall User Dispatch is set: the system calls of code outside
 * [start, start + bytes) become signals. */
void process_dispatches(unsigned long start, unsigned long bytes);
/* Before this thread loses the time-stamp counter (clock.h). */
void process_loses_counter(void);
/* The calling thread ends; process_task_exits(): by SYS_exit, without libc. */
void process_thread_ends(void);
void process_task_exits(void);

/* For jump.S. */
void *unstall_vfork_begins(void);
void *unstall_vfork_next(void);
void unstall_vfork_returned(void);
void unstall_syscall_begins(long n, long a, long b);
long unstall_syscall(long n, long a, long b, long c, long d, long e, long f);

/* The gate (lock.h) shuts: every call passes through from now on, here and in children of fork. */
void gate_shuts_for_good(void);

/* ---- changes of rights --------------------------------------------------
 *
 * Around a call of rights.def: holds are pushed, the window's thread ends, and none starts until the call is
 * over, so that none keeps rights that the program has dropped.  A program that changes its rights for each
 * request gets no more threads after a while: the starts would slow it.
 */

/* Runs before the call `number` with this first argument.  Pass the result to
 * rights_changed() after the call. */
uint32_t rights_change(long number, unsigned long first);
void rights_changed(uint32_t barred);

/* The same before a signal to `task`.  A program that signals the window's thread signals each task in
 * /proc/self/task, as libpsx of libcap 2.72 does to change the rights of all of them, and waits until each
 * has answered or ended.  The window's thread blocks all signals and cannot answer, so this ends it. */
uint32_t rights_signal(long task);

#endif
