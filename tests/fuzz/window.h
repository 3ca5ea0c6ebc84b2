/* SPDX-License-Identifier: MIT
 *
 * The window's thread without a thread (instead of ticker.c and ticker_thread.c): a window ends when the fuzzer says so.
 */
#ifndef UNSTALL_FUZZ_WINDOW_H
#define UNSTALL_FUZZ_WINDOW_H

/* What ticker_thread.c does at a tick at which every hold is older than the window. */
void window_ends(void);

/* ... nothing is watched any more. */
void window_forget(void);

#endif
