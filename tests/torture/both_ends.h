/* SPDX-License-Identifier: MIT
 *
 * What the kernel says of both ends of a connection: of ours by TCP_INFO, of the
 * other process's by the socket monitoring interface (sock_diag(7)), so that it
 * is not disturbed and needs to help with nothing.
 */
#ifndef TORTURE_BOTH_ENDS_H
#define TORTURE_BOTH_ENDS_H

enum { BOTH_ENDS = 1000 };

/* In words, at most BOTH_ENDS bytes.  What the kernel does not tell is left out.  Returns for how
 * many milliseconds, to a jiffy, the last data that came in had waited for its reader. */
unsigned both_ends(int fd, char *text);

#endif
