/* SPDX-License-Identifier: MIT
 *
 * Stands in for the window's thread (window.c): a window ends when the fuzzer says so.
 */
#ifndef UNSTALL_FUZZ_WINDOW_H
#define UNSTALL_FUZZ_WINDOW_H

/* The work of window.c at a tick at which every hold is older than the window. */
void window_ends(void);

/* ... nothing is watched any more. */
void window_forget(void);

#endif
