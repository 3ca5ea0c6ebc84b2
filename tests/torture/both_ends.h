/* SPDX-License-Identifier: MIT
 *
 * The kernel's state of both ends of a connection: of ours by TCP_INFO, of the other process's by the socket
 * monitoring interface (sock_diag(7)).  The other process is not disturbed and need not help.
 */
#ifndef TORTURE_BOTH_ENDS_H
#define TORTURE_BOTH_ENDS_H

enum { BOTH_ENDS = 1000 };

/* In words, at most BOTH_ENDS bytes.  Fields that the kernel does not tell are left out. Returns for how many
 * milliseconds, to a jiffy, the last data that came in had waited for its reader. */
unsigned both_ends(int fd, char *text);

#endif
