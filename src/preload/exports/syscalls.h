/* SPDX-License-Identifier: MIT
 *
 * The numbers of syscall(2) that we handle.  1: unstall_syscall() makes the call.
 * SYSCALL_WAITS: it does so while the thread has an open turn.  SYSCALL_BEGINS:
 * unstall_syscall_begins() runs before the call.  jump.S forwards all other numbers.
 */
#ifndef UNSTALL_SYSCALLS_H
#define UNSTALL_SYSCALLS_H

#define SYSCALL_NUMBERS 512
#define SYSCALL_WAITS   2
#define SYSCALL_BEGINS  3

#ifndef __ASSEMBLER__
extern const unsigned char unstall_syscalls[SYSCALL_NUMBERS];
#endif

#endif
