/* SPDX-License-Identifier: MIT
 *
 * The part of jump.S for three more processors: the same steps with other registers.
 */
#if defined(__riscv)

	/* Calls a function of ours, and keeps a register's value. */
	.macro	call_ours function, kept
	addi	sp, sp, -16
	.cfi_adjust_cfa_offset 16
	sd	\kept, 0(sp)
	sd	ra, 8(sp)
	.cfi_offset ra, -8
	call	\function
	ld	\kept, 0(sp)
	ld	ra, 8(sp)
	.cfi_restore ra
	addi	sp, sp, 16
	.cfi_adjust_cfa_offset -16
	.endm

	.p2align 2
__vfork:
vfork:
	.cfi_startproc
	call_ours unstall_vfork_begins, s1
	beqz	a0, .Lnested
	la.tls.ie t0, unstall_vfork_kept
	add	t0, t0, tp
	sd	s1, 0(t0)
	mv	t6, s1
	mv	s1, ra
	.cfi_register ra, s1
	.cfi_register s1, t6
	jalr	a0
	mv	ra, s1
	.cfi_restore ra
	la.tls.ie t0, unstall_vfork_kept
	add	t0, t0, tp
	ld	s1, 0(t0)
	.cfi_restore s1
	beqz	a0, .Lchild
	call_ours unstall_vfork_returned, a0
.Lchild:
	ret
.Lnested:
	call_ours unstall_vfork_next, s1
	jr	a0
	.cfi_endproc

	.p2align 2
syscall:
	.cfi_startproc
	li	t0, SYSCALL_NUMBERS
	bgeu	a0, t0, .Lnext
	lla	t0, unstall_syscalls
	add	t0, t0, a0
	lbu	t0, 0(t0)
	beqz	t0, .Lnext
	li	t1, SYSCALL_BEGINS
	beq	t0, t1, .Lbegins
	li	t1, SYSCALL_WAITS
	bne	t0, t1, .Lours
	la.tls.ie t0, self		/* self.turn is its first member */
	add	t0, t0, tp
	ld	t0, 0(t0)
	bnez	t0, .Lours
.Lnext:
	lla	t0, real_syscall
	ld	t0, 0(t0)
	beqz	t0, .Lours
	jr	t0
.Lours:
	tail	unstall_syscall
.Lbegins:
	addi	sp, sp, -64
	.cfi_adjust_cfa_offset 64
	sd	ra, 0(sp)
	.cfi_offset ra, -64
	sd	a0, 8(sp)
	sd	a1, 16(sp)
	sd	a2, 24(sp)
	sd	a3, 32(sp)
	sd	a4, 40(sp)
	sd	a5, 48(sp)
	sd	a6, 56(sp)
	call	unstall_syscall_begins
	ld	ra, 0(sp)
	.cfi_restore ra
	ld	a0, 8(sp)
	ld	a1, 16(sp)
	ld	a2, 24(sp)
	ld	a3, 32(sp)
	ld	a4, 40(sp)
	ld	a5, 48(sp)
	ld	a6, 56(sp)
	addi	sp, sp, 64
	.cfi_adjust_cfa_offset -64
	j	.Lnext
	.cfi_endproc

#elif defined(__s390x__)

	/* The thread pointer, in register 0 or 1. */
	.macro	thread_pointer register
	ear	\register, %a0
	sllg	\register, \register, 32
	ear	\register, %a1
	.endm

	/* Calls a function of ours; the caller's frame has the place of the registers. */
	.macro	call_ours function
	stg	%r14, 112(%r15)
	.cfi_offset %r14, -48
	aghi	%r15, -160
	.cfi_adjust_cfa_offset 160
	brasl	%r14, \function
	aghi	%r15, 160
	.cfi_adjust_cfa_offset -160
	lg	%r14, 112(%r15)
	.cfi_restore %r14
	.endm

	.p2align 4
__vfork:
vfork:
	.cfi_startproc
	call_ours unstall_vfork_begins
	ltgr	%r2, %r2
	je	.Lnested
	thread_pointer %r1
	larl	%r3, unstall_vfork_kept@INDNTPOFF
	lg	%r3, 0(%r3)
	stg	%r13, 0(%r3, %r1)
	lgr	%r5, %r13
	lgr	%r13, %r14
	.cfi_register %r14, %r13
	.cfi_register %r13, %r5
	basr	%r14, %r2
	lgr	%r14, %r13
	.cfi_restore %r14
	thread_pointer %r1
	larl	%r3, unstall_vfork_kept@INDNTPOFF
	lg	%r3, 0(%r3)
	lg	%r13, 0(%r3, %r1)
	.cfi_restore %r13
	ltgr	%r2, %r2
	ber	%r14
	stg	%r2, 16(%r15)
	call_ours unstall_vfork_returned
	lg	%r2, 16(%r15)
	br	%r14
.Lnested:
	call_ours unstall_vfork_next
	lgr	%r1, %r2
	br	%r1
	.cfi_endproc

	.p2align 4
syscall:
	.cfi_startproc
	clgfi	%r2, SYSCALL_NUMBERS
	jhe	.Lnext
	larl	%r1, unstall_syscalls
	llgc	%r1, 0(%r2, %r1)
	cghi	%r1, 0
	je	.Lnext
	cghi	%r1, SYSCALL_BEGINS
	je	.Lbegins
	cghi	%r1, SYSCALL_WAITS
	jne	.Lours
	thread_pointer %r0
	larl	%r1, self@INDNTPOFF	/* self.turn is its first member */
	lg	%r1, 0(%r1)
	agr	%r1, %r0
	ltg	%r1, 0(%r1)
	jne	.Lours
.Lnext:
	larl	%r1, real_syscall
	ltg	%r1, 0(%r1)
	je	.Lours
	br	%r1
.Lours:
	jg	unstall_syscall
.Lbegins:
	stmg	%r2, %r6, 16(%r15)
	call_ours unstall_syscall_begins
	lmg	%r2, %r6, 16(%r15)
	j	.Lnext
	.cfi_endproc

#elif defined(__arm__)

	.syntax	unified
	.arch	armv7-a
	.arm

	/* Sets `pointer` to the thread pointer and `offset` to the variable's distance from it. */
	.macro	thread_local variable, pointer, offset
	mrc	p15, 0, \pointer, c13, c0, 3
	ldr	\offset, 8f
9:	ldr	\offset, [pc, \offset]
	b	7f
8:	.word	\variable(gottpoff) + (. - 9b - 8)
7:
	.endm

	/* Calls a function of ours, and keeps a register's value. */
	.macro	call_ours function, kept
	push	{\kept, lr}
	.cfi_adjust_cfa_offset 8
	.cfi_offset lr, -4
	bl	\function
	pop	{\kept, lr}
	.cfi_adjust_cfa_offset -8
	.cfi_restore lr
	.endm

	.p2align 2
__vfork:
vfork:
	.cfi_startproc
	call_ours unstall_vfork_begins, r4
	cmp	r0, #0
	beq	.Lnested
	thread_local unstall_vfork_kept, r1, r2
	str	r4, [r1, r2]
	mov	r3, r4
	mov	r4, lr
	.cfi_register lr, r4
	.cfi_register r4, r3
	blx	r0
	mov	lr, r4
	.cfi_restore lr
	thread_local unstall_vfork_kept, r1, r2
	ldr	r4, [r1, r2]
	.cfi_restore r4
	cmp	r0, #0
	bxeq	lr
	call_ours unstall_vfork_returned, r0
	bx	lr
.Lnested:
	call_ours unstall_vfork_next, r4
	bx	r0
	.cfi_endproc

	.p2align 2
syscall:
	.cfi_startproc
	cmp	r0, #SYSCALL_NUMBERS
	bhs	.Lnext
	ldr	ip, .Ltable
1:	add	ip, pc, ip
	ldrb	ip, [ip, r0]
	cmp	ip, #0
	beq	.Lnext
	cmp	ip, #SYSCALL_BEGINS
	beq	.Lbegins
	cmp	ip, #SYSCALL_WAITS
	bne	.Lours
	push	{r0, r1}
	thread_local self, r0, ip	/* self.turn is its first member */
	ldr	ip, [r0, ip]
	pop	{r0, r1}
	cmp	ip, #0
	bne	.Lours
.Lnext:
	ldr	ip, .Lreal
2:	ldr	ip, [pc, ip]
	cmp	ip, #0
	bxne	ip
.Lours:
	b	unstall_syscall
.Lbegins:
	push	{r0-r3, ip, lr}
	bl	unstall_syscall_begins
	pop	{r0-r3, ip, lr}
	b	.Lnext
.Ltable:
	.word	unstall_syscalls - (1b + 8)
.Lreal:
	.word	real_syscall - (2b + 8)
	.cfi_endproc

#endif
