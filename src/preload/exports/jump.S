/* SPDX-License-Identifier: MIT
 *
 * The two calls that no C function can wrap.  (jump_more.S has them for three more processors.)
 *
 * vfork: the child runs on the parent's stack and returns through the caller's
 * frame, so a C wrapper's frame would be overwritten before the parent returns.
 * The return address is taken off the stack and kept in a register that calls preserve,
 * where unwinders find it, as in glibc (sysdeps/unix/sysv/linux/x86_64/vfork.S); and the
 * register's own value in thread-local storage, which the child shares and does not touch
 * (self.vforked).  A signal's handler may unwind from any instruction: a profiler's does.
 *
 * syscall: a number that we do not handle is forwarded by a jump, without a frame of
 * ours.  clone and vfork through syscall(2) need that; unstall_syscall_begins() runs
 * before them.
 */
#include "exports.h"

	.section .tbss, "awT", %nobits
	.balign 8
	.hidden	unstall_vfork_kept
	.type	unstall_vfork_kept, %object
	.size	unstall_vfork_kept, 8
unstall_vfork_kept:
	.zero	8

	.text

#ifndef UNSTALL_UNKNOWN_PROCESSOR

	.globl	vfork
	.type	vfork, %function
	.globl	__vfork
	.type	__vfork, %function
	.globl	syscall
	.type	syscall, %function

#if defined(__x86_64__)

	.p2align 4
__vfork:
vfork:
	.cfi_startproc
	endbr64
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	unstall_vfork_begins
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jz	.Lnested
	movq	unstall_vfork_kept@GOTTPOFF(%rip), %rdx
	movq	%rbx, %fs:(%rdx)
	movq	%rbx, %r10		/* libc keeps it, for unwinders and collectors */
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rbx
	.cfi_register %rbx, %r10
	call	*%rax
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8	/* libgcc restores no rule of the start */
	movq	unstall_vfork_kept@GOTTPOFF(%rip), %rdx
	movq	%fs:(%rdx), %rbx
	.cfi_restore %rbx
	testl	%eax, %eax
	jz	.Lchild
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	unstall_vfork_returned
	popq	%rax
	.cfi_adjust_cfa_offset -8
.Lchild:
	ret
.Lnested:
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	unstall_vfork_next
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc

	.p2align 4
syscall:
	.cfi_startproc
	endbr64
	cmpq	$SYSCALL_NUMBERS, %rdi
	jae	.Lnext
	leaq	unstall_syscalls(%rip), %r11
	movzbl	(%r11,%rdi), %r11d
	testl	%r11d, %r11d
	jz	.Lnext
	cmpl	$SYSCALL_BEGINS, %r11d
	je	.Lbegins
	cmpl	$SYSCALL_WAITS, %r11d
	jne	.Lours
	movq	self@GOTTPOFF(%rip), %r11	/* self.turn is its first member */
	cmpq	$0, %fs:(%r11)
	jne	.Lours
.Lnext:
	movq	real_syscall(%rip), %r11
	testq	%r11, %r11
	jz	.Lours
	jmp	*%r11
.Lours:
	jmp	unstall_syscall
.Lbegins:
	.irp	register, rdi, rsi, rdx, rcx, r8, r9
	pushq	%\register
	.cfi_adjust_cfa_offset 8
	.endr
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	unstall_syscall_begins
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	.irp	register, r9, r8, rcx, rdx, rsi, rdi
	popq	%\register
	.cfi_adjust_cfa_offset -8
	.endr
	jmp	.Lnext
	.cfi_endproc

#elif defined(__i386__)

	.p2align 4
__vfork:
vfork:
	.cfi_startproc
	endbr32
	subl	$12, %esp
	.cfi_adjust_cfa_offset 12
	call	unstall_vfork_begins
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	testl	%eax, %eax
	jz	.Lnested
	call	.Lpc
	addl	$_GLOBAL_OFFSET_TABLE_, %ecx
	movl	unstall_vfork_kept@GOTNTPOFF(%ecx), %edx
	movl	%ebx, %gs:(%edx)
	movl	%ebx, %edx		/* as on x86-64 */
	popl	%ebx
	.cfi_adjust_cfa_offset -4
	.cfi_register %eip, %ebx
	.cfi_register %ebx, %edx
	call	*%eax
	pushl	%ebx
	.cfi_adjust_cfa_offset 4
	.cfi_offset %eip, -4
	call	.Lpc
	addl	$_GLOBAL_OFFSET_TABLE_, %ecx
	movl	unstall_vfork_kept@GOTNTPOFF(%ecx), %ecx
	movl	%gs:(%ecx), %ebx
	.cfi_restore %ebx
	testl	%eax, %eax
	jz	.Lchild
	subl	$12, %esp
	.cfi_adjust_cfa_offset 12
	movl	%eax, (%esp)
	call	unstall_vfork_returned
	movl	(%esp), %eax
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
.Lchild:
	ret
.Lnested:
	subl	$12, %esp
	.cfi_adjust_cfa_offset 12
	call	unstall_vfork_next
	addl	$12, %esp
	.cfi_adjust_cfa_offset -12
	jmp	*%eax
	.cfi_endproc

	.p2align 4
syscall:
	.cfi_startproc
	endbr32
	call	.Lpc
	addl	$_GLOBAL_OFFSET_TABLE_, %ecx
	movl	4(%esp), %eax
	cmpl	$SYSCALL_NUMBERS, %eax
	jae	.Lnext
	movzbl	unstall_syscalls@GOTOFF(%ecx,%eax), %edx
	testl	%edx, %edx
	jz	.Lnext
	cmpl	$SYSCALL_BEGINS, %edx
	je	.Lbegins
	cmpl	$SYSCALL_WAITS, %edx
	jne	.Lours
	movl	self@GOTNTPOFF(%ecx), %edx	/* self.turn is its first member */
	cmpl	$0, %gs:(%edx)
	jne	.Lours
.Lnext:
	movl	real_syscall@GOTOFF(%ecx), %eax
	testl	%eax, %eax
	jz	.Lours
	jmp	*%eax
.Lours:
	jmp	unstall_syscall
.Lbegins:
	pushl	%ecx
	.cfi_adjust_cfa_offset 4
	pushl	12(%esp)		/* its first argument, and its number */
	.cfi_adjust_cfa_offset 4
	pushl	12(%esp)
	.cfi_adjust_cfa_offset 4
	call	unstall_syscall_begins
	addl	$8, %esp
	.cfi_adjust_cfa_offset -8
	popl	%ecx
	.cfi_adjust_cfa_offset -4
	jmp	.Lnext
	.cfi_endproc

.Lpc:					/* the address behind the call, in ecx */
	.cfi_startproc
	movl	(%esp), %ecx
	ret
	.cfi_endproc

#elif defined(__aarch64__)

	/* Calls a function of ours, and keeps a register's value. */
	.macro	call_ours function, kept
	stp	\kept, x30, [sp, -16]!
	.cfi_adjust_cfa_offset 16
	.cfi_offset x30, -8
	bl	\function
	ldp	\kept, x30, [sp], 16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x30
	.endm

	.p2align 4
__vfork:
vfork:
	.cfi_startproc
	hint	34			/* bti c */
	call_ours unstall_vfork_begins, x29
	cbz	x0, .Lnested
	mov	x16, x0
	mrs	x1, tpidr_el0
	adrp	x2, :gottprel:unstall_vfork_kept
	ldr	x2, [x2, :gottprel_lo12:unstall_vfork_kept]
	str	x19, [x1, x2]
	mov	x9, x19
	mov	x19, x30
	.cfi_register x30, x19
	.cfi_register x19, x9
	blr	x16
	mov	x30, x19
	.cfi_restore x30
	mrs	x1, tpidr_el0
	adrp	x2, :gottprel:unstall_vfork_kept
	ldr	x2, [x2, :gottprel_lo12:unstall_vfork_kept]
	ldr	x19, [x1, x2]
	.cfi_restore x19
	cbz	w0, .Lchild
	call_ours unstall_vfork_returned, x0
.Lchild:
	ret
.Lnested:
	call_ours unstall_vfork_next, x29
	mov	x16, x0
	br	x16
	.cfi_endproc

	.p2align 4
syscall:
	.cfi_startproc
	hint	34
	cmp	x0, #SYSCALL_NUMBERS
	b.hs	.Lnext
	adrp	x16, unstall_syscalls
	add	x16, x16, :lo12:unstall_syscalls
	ldrb	w16, [x16, x0]
	cbz	w16, .Lnext
	cmp	w16, #SYSCALL_BEGINS
	b.eq	.Lbegins
	cmp	w16, #SYSCALL_WAITS
	b.ne	.Lours
	mrs	x17, tpidr_el0
	adrp	x16, :gottprel:self		/* self.turn is its first member */
	ldr	x16, [x16, :gottprel_lo12:self]
	ldr	x16, [x17, x16]
	cbnz	x16, .Lours
.Lnext:
	adrp	x16, real_syscall
	ldr	x16, [x16, :lo12:real_syscall]
	cbz	x16, .Lours
	br	x16
.Lours:
	b	unstall_syscall
.Lbegins:
	stp	x29, x30, [sp, -80]!
	.cfi_adjust_cfa_offset 80
	.cfi_offset x30, -72
	stp	x0, x1, [sp, 16]
	stp	x2, x3, [sp, 32]
	stp	x4, x5, [sp, 48]
	str	x6, [sp, 64]
	bl	unstall_syscall_begins
	ldr	x6, [sp, 64]
	ldp	x4, x5, [sp, 48]
	ldp	x2, x3, [sp, 32]
	ldp	x0, x1, [sp, 16]
	ldp	x29, x30, [sp], 80
	.cfi_adjust_cfa_offset -80
	.cfi_restore x30
	b	.Lnext
	.cfi_endproc

#else
#include "jump_more.S"
#endif

	.size	vfork, syscall - vfork
	.size	syscall, . - syscall
#endif

	.section .note.GNU-stack, "", %progbits
