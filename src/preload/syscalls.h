/* SPDX-License-Identifier: MIT
 *
 * Which numbers of syscall(2) are ours to see: 1 for those that unstall_syscall()
 * knows.  jump.S sends all others straight on.
 */
#ifndef UNSTALL_SYSCALLS_H
#define UNSTALL_SYSCALLS_H

#define SYSCALL_NUMBERS 512

#ifndef __ASSEMBLER__
extern const unsigned char unstall_syscalls[SYSCALL_NUMBERS];
#endif

#endif
