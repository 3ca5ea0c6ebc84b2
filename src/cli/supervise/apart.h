/* SPDX-License-Identifier: MIT
 *
 * A process that works for the program unseen by it: it is no child of the program, has a session of its own,
 * and keeps none of the program's files open.
 */
#ifndef UNSTALL_SUPERVISE_APART_H
#define UNSTALL_SUPERVISE_APART_H

enum { APART_KEPT = 3 }; /* the only descriptor that is kept, above the three of /dev/null */

/* Runs work(channel) in such a process, which closes `other_end`, with all signals blocked.  0 or -errno. */
int apart_start(void (*work)(int), int channel, int other_end);

/* Called in that process: closes all descriptors but `keep` (above 2), which becomes APART_KEPT, and
 * leaves the terminal and the folder. */
void apart_let_go(int keep, const char *name);

#endif
