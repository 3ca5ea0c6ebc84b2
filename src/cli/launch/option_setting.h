/* SPDX-License-Identifier: MIT
 *
 * Options that set a variable of the library: "--mode cork" is UNSTALL_MODE=cork.
 */
#ifndef UNSTALL_CLI_OPTION_SETTING_H
#define UNSTALL_CLI_OPTION_SETTING_H

#include <stdbool.h>

#include "args.h"

/* Takes the present option if it sets a variable; false if it does not.  A relative path becomes an absolute
 * one.  A bad value ends the command with EXIT_OWN and a complaint. */
bool option_setting(struct args *a, const char **variable, const char **value);

#endif
