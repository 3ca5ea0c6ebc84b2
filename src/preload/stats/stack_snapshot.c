/* SPDX-License-Identifier: MIT */
#include "stacks.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "clock.h"
#include "evidence.h"
#include "raw.h"
#include "readable.h"

enum { PAGE = 4096 };

/* ---- memory that may be unmapped -------------------------------------- */

/* Neither memcpy nor a loop that the compiler turns into one: a sanitizer's memcpy reports the
 * red zones between the variables of a stack. */
__attribute__((no_sanitize("address", "thread"))) static void
copy(char *to, const volatile char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

/* process_vm_readv(2) on our own process cannot fault, even if another thread unmaps the memory; it
 * stops at the first unreadable page.  Under an inherited seccomp filter (of a container or a service
 * manager) it is not used: a call that the filter does not allow may end the process. */
size_t snapshot_peek(void *to, uintptr_t from, size_t bytes) {
    static uint8_t filtered; /* 1: no, 2: yes */
    struct iovec here = {to, bytes}, there = {(void *)from, bytes}; // NOLINT(performance-no-int-to-ptr)
    if (!LOAD(&filtered))
        STORE(&filtered, raw1(SYS_prctl, PR_GET_SECCOMP) == 0 ? 1 : 2);
    if (LOAD(&filtered) == 1) {
        long got = raw6(SYS_process_vm_readv, raw0(SYS_getpid), (long)&here, 1, (long)&there, 1, 0);
        return got > 0 ? (size_t)got : 0;
    }
    while (bytes && !readable_by_kernel(from, bytes))
        bytes = bytes > PAGE ? bytes - PAGE : 0;
    copy(to, there.iov_base, bytes);
    return bytes;
}

/* ---- this thread ------------------------------------------------------ */

/* The start of an unwinder: the registers that a call preserves, the stack
 * pointer and the program counter, at one instruction.  The others are zero. */
static inline __attribute__((always_inline)) uint32_t registers_now(uint64_t *r) {
#if defined(__x86_64__)
    enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RIP = 16, COUNT = 17 };
    __asm__ volatile(
        "movq %%rbx, %c[rbx]*8(%[r])\n\t"
        "movq %%rbp, %c[rbp]*8(%[r])\n\t"
        "movq %%rsp, %c[rsp]*8(%[r])\n\t"
        "movq %%r12, %c[r12]*8(%[r])\n\t"
        "movq %%r13, %c[r12]*8+8(%[r])\n\t"
        "movq %%r14, %c[r12]*8+16(%[r])\n\t"
        "movq %%r15, %c[r12]*8+24(%[r])\n\t"
        "leaq 0f(%%rip), %%rax\n\t"
        "movq %%rax, %c[rip]*8(%[r])\n"
        "0:"
        :
        : [r] "r"(r), [rbx] "i"(RBX), [rbp] "i"(RBP), [rsp] "i"(RSP), [r12] "i"(R12), [rip] "i"(RIP)
        : "rax", "memory");
    return COUNT;
#elif defined(__aarch64__)
    enum { X19 = 19, SP = 31, PC = 32, COUNT = 33 };
    __asm__ volatile("stp x19, x20, [%[x]]\n\t"
                     "stp x21, x22, [%[x], #16]\n\t"
                     "stp x23, x24, [%[x], #32]\n\t"
                     "stp x25, x26, [%[x], #48]\n\t"
                     "stp x27, x28, [%[x], #64]\n\t"
                     "stp x29, x30, [%[x], #80]\n\t"
                     "mov x9, sp\n\t"
                     "adr x10, 0f\n\t"
                     "stp x9, x10, [%[sp]]\n"
                     "0:"
                     :
                     : [x] "r"(r + X19), [sp] "r"(r + SP)
                     : "x9", "x10", "memory");
    _Static_assert(PC == SP + 1, "stored as a pair");
    return COUNT;
#else
    (void)r;
    return 0;
#endif
}

/* The copy ends at the end of the stack.  Above the main thread's stack lie the arguments and the
 * environment, which may hold secrets; above another thread's stack lies its control block. */
__attribute__((noinline)) void stack_snapshot(struct stats_write *to, const struct evidence_write *w) {
    memset(to->registers, 0, sizeof(to->registers));
    to->register_count = registers_now(to->registers);
#if defined(__x86_64__)
    uintptr_t sp = to->registers[7];
#elif defined(__aarch64__)
    uintptr_t sp = to->registers[31];
#else
    uintptr_t sp = stack_pointer();
#endif
    size_t most = stack_end(sp) - sp;
    to->stack_bytes = (uint32_t)snapshot_peek(to->stack, sp, most - 1 < STATS_STACK ? most : STATS_STACK);
    to->bytes = w->bytes;
    to->when_ns = clock_now();
    to->thread = (uint32_t)raw0(SYS_gettid);
    to->fd = (uint32_t)w->fd;
}
