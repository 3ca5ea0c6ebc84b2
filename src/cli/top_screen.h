/* SPDX-License-Identifier: MIT
 *
 * `unstall top` on a terminal: ncurses and keys.
 */
#ifndef UNSTALL_CLI_TOP_SCREEN_H
#define UNSTALL_CLI_TOP_SCREEN_H

#include "top.h"

/* Until the user quits.  0, or EXIT_OWN, complained; ends t. */
int top_screen(struct top *t, double interval);

#endif
