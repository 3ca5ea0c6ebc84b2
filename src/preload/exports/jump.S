/* SPDX-License-Identifier: MIT
 *
 * The two calls that no C function can wrap.  (jump_more.S has them for three more processors.)
 *
 * vfork: the child runs on the parent's stack and returns through the caller's
 * frame, so a C wrapper's frame would be overwritten before the parent returns.
 * The return address is taken off the stack and kept in thread-local storage,
 * which the child shares and does not touch (self.vforked).  glibc does the same
 * with a register (sysdeps/unix/sysv/linux/x86_64/vfork.S).
 *
 * syscall: a number that we do not handle is forwarded by a jump, without a frame of
 * ours.  clone and vfork through syscall(2) need that; unstall_syscall_begins() runs
 * before them.
 */
#include "exports.h"

	.section .tbss, "awT", %nobits
	.balign 8
	.hidden	unstall_vfork_return
	.type	unstall_vfork_return, %object
	.size	unstall_vfork_return, 8
unstall_vfork_return:
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
	movq	unstall_vfork_return@GOTTPOFF(%rip), %rdx
	popq	%fs:(%rdx)
	call	*%rax
	movq	unstall_vfork_return@GOTTPOFF(%rip), %rdx
	pushq	%fs:(%rdx)
	testl	%eax, %eax
	jz	.Lchild
	pushq	%rax
	call	unstall_vfork_returned
	popq	%rax
.Lchild:
	ret
.Lnested:
	subq	$8, %rsp
	call	unstall_vfork_next
	addq	$8, %rsp
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
	movl	unstall_vfork_return@GOTNTPOFF(%ecx), %edx
	popl	%gs:(%edx)
	call	*%eax
	call	.Lpc
	addl	$_GLOBAL_OFFSET_TABLE_, %ecx
	movl	unstall_vfork_return@GOTNTPOFF(%ecx), %edx
	pushl	%gs:(%edx)
	testl	%eax, %eax
	jz	.Lchild
	pushl	%eax
	subl	$8, %esp
	call	unstall_vfork_returned
	addl	$8, %esp
	popl	%eax
.Lchild:
	ret
.Lnested:
	subl	$12, %esp
	call	unstall_vfork_next
	addl	$12, %esp
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

	.p2align 4
__vfork:
vfork:
	.cfi_startproc
	hint	34			/* bti c */
	stp	x29, x30, [sp, -16]!
	bl	unstall_vfork_begins
	ldp	x29, x30, [sp], 16
	cbz	x0, .Lnested
	mov	x16, x0
	mrs	x1, tpidr_el0
	adrp	x2, :gottprel:unstall_vfork_return
	ldr	x2, [x2, :gottprel_lo12:unstall_vfork_return]
	str	x30, [x1, x2]
	blr	x16
	mrs	x1, tpidr_el0
	adrp	x2, :gottprel:unstall_vfork_return
	ldr	x2, [x2, :gottprel_lo12:unstall_vfork_return]
	ldr	x30, [x1, x2]
	cbz	w0, .Lchild
	stp	x0, x30, [sp, -16]!
	bl	unstall_vfork_returned
	ldp	x0, x30, [sp], 16
.Lchild:
	ret
.Lnested:
	stp	x29, x30, [sp, -16]!
	bl	unstall_vfork_next
	ldp	x29, x30, [sp], 16
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
	b	.Lnext
	.cfi_endproc

#else
#include "jump_more.S"
#endif

	.size	vfork, syscall - vfork
	.size	syscall, . - syscall
#endif

	.section .note.GNU-stack, "", %progbits
