/* SPDX-License-Identifier: MIT
 *
 * `unstall top` on a terminal: ncurses and keys.
 */
#include "top_frame.h"

#ifndef UNSTALL_CLI_TOP_SCREEN_H
#define UNSTALL_CLI_TOP_SCREEN_H

/* Runs until the user quits, and frees t.  0, or EXIT_OWN and a complaint. */
int top_screen(struct top *t, double interval);

#endif
