/* SPDX-License-Identifier: MIT
 *
 * The part of jump.S for three more processors: the same steps with other registers.
 */
#if defined(__riscv)

	.p2align 2
__vfork:
vfork:
	.cfi_startproc
	addi	sp, sp, -16
	sd	ra, 8(sp)
	call	unstall_vfork_begins
	ld	ra, 8(sp)
	addi	sp, sp, 16
	beqz	a0, .Lnested
	la.tls.ie t0, unstall_vfork_return
	add	t0, t0, tp
	sd	ra, 0(t0)
	jalr	a0
	la.tls.ie t0, unstall_vfork_return
	add	t0, t0, tp
	ld	ra, 0(t0)
	beqz	a0, .Lchild
	addi	sp, sp, -16
	sd	a0, 0(sp)
	sd	ra, 8(sp)
	call	unstall_vfork_returned
	ld	a0, 0(sp)
	ld	ra, 8(sp)
	addi	sp, sp, 16
.Lchild:
	ret
.Lnested:
	addi	sp, sp, -16
	sd	ra, 8(sp)
	call	unstall_vfork_next
	ld	ra, 8(sp)
	addi	sp, sp, 16
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
	sd	ra, 0(sp)
	sd	a0, 8(sp)
	sd	a1, 16(sp)
	sd	a2, 24(sp)
	sd	a3, 32(sp)
	sd	a4, 40(sp)
	sd	a5, 48(sp)
	sd	a6, 56(sp)
	call	unstall_syscall_begins
	ld	ra, 0(sp)
	ld	a0, 8(sp)
	ld	a1, 16(sp)
	ld	a2, 24(sp)
	ld	a3, 32(sp)
	ld	a4, 40(sp)
	ld	a5, 48(sp)
	ld	a6, 56(sp)
	addi	sp, sp, 64
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
	aghi	%r15, -160
	brasl	%r14, \function
	aghi	%r15, 160
	.endm

	.p2align 4
__vfork:
vfork:
	.cfi_startproc
	stg	%r14, 112(%r15)
	call_ours unstall_vfork_begins
	lg	%r14, 112(%r15)
	ltgr	%r2, %r2
	je	.Lnested
	thread_pointer %r1
	larl	%r3, unstall_vfork_return@INDNTPOFF
	lg	%r3, 0(%r3)
	stg	%r14, 0(%r3, %r1)
	basr	%r14, %r2
	thread_pointer %r1
	larl	%r3, unstall_vfork_return@INDNTPOFF
	lg	%r3, 0(%r3)
	lg	%r14, 0(%r3, %r1)
	ltgr	%r2, %r2
	ber	%r14
	stg	%r14, 112(%r15)
	stg	%r2, 16(%r15)
	call_ours unstall_vfork_returned
	lg	%r2, 16(%r15)
	lg	%r14, 112(%r15)
	br	%r14
.Lnested:
	stg	%r14, 112(%r15)
	call_ours unstall_vfork_next
	lg	%r14, 112(%r15)
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
	stmg	%r2, %r14, 16(%r15)
	call_ours unstall_syscall_begins
	lmg	%r2, %r14, 16(%r15)
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

	.p2align 2
__vfork:
vfork:
	.cfi_startproc
	push	{r4, lr}
	bl	unstall_vfork_begins
	pop	{r4, lr}
	cmp	r0, #0
	beq	.Lnested
	thread_local unstall_vfork_return, r1, r2
	str	lr, [r1, r2]
	blx	r0
	thread_local unstall_vfork_return, r1, r2
	ldr	lr, [r1, r2]
	cmp	r0, #0
	bxeq	lr
	push	{r0, lr}
	bl	unstall_vfork_returned
	pop	{r0, lr}
	bx	lr
.Lnested:
	push	{r4, lr}
	bl	unstall_vfork_next
	pop	{r4, lr}
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
