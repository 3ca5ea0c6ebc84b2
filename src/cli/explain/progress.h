/* SPDX-License-Identifier: MIT
 *
 * "FILE: 45 %" on the terminal of stderr while a long file is read.  It writes nothing in the first second,
 * and nothing if stderr is no terminal.
 *
 * One file at a time: the state is static.
 */
#ifndef UNSTALL_CLI_PROGRESS_H
#define UNSTALL_CLI_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

void progress_begin(FILE *in, const char *name);
void progress_step(uint64_t entries); /* so many packets or lines were read */
void progress_end(void);

#endif
