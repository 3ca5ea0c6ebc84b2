/* SPDX-License-Identifier: MIT
 *
 * Which numbers of syscall(2) are ours to see: 1 for those that unstall_syscall()
 * makes; SYSCALL_WAITS for those that it makes while the thread has an open turn;
 * SYSCALL_BEGINS for those of which unstall_syscall_begins() is told before.
 * jump.S sends all others straight on.
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
