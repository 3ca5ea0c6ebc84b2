/* SPDX-License-Identifier: MIT
 *
 * The seccomp filter: it stops the calls that the supervisor answers.
 */
#ifndef UNSTALL_SUPERVISE_FILTER_H
#define UNSTALL_SUPERVISE_FILTER_H

#include <stdbool.h>

/* Installs the filter for this process.  Returns its listener (close-on-exec), or -errno.  -EACCES: without
 * CAP_SYS_ADMIN this needs no_new_privs. */
int filter_install(void);

#endif
