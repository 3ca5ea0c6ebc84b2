/* SPDX-License-Identifier: MIT
 *
 * A process that works for the program and that the program does not meet: it is no child of it,
 * has a session of its own, and keeps nothing that is open.
 */
#ifndef UNSTALL_SUPERVISE_APART_H
#define UNSTALL_SUPERVISE_APART_H

enum { APART_KEPT = 3 }; /* the only descriptor that is kept, above the three of /dev/null */

/* Runs work(channel) in such a process, which closes `other_end`.  0 or -errno. */
int apart_start(void (*work)(int), int channel, int other_end);

/* For that process: keeps no terminal, no pipe, no folder, no signal but SIGKILL and SIGSTOP.  `keep` (above
 * 2) becomes APART_KEPT. */
void apart_let_go(int keep, const char *name);

#endif
