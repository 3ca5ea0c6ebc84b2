/* SPDX-License-Identifier: MIT */
#include "capture.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"
#include "evidence.h"
#include "raw.h"
#include "readable.h"

enum { PAGE = 4096, PIECES = SEGMENT_STACK / PAGE + 1 };

/* Above it lie the arguments and the environment: no stack, and full of secrets. */
static uintptr_t main_stack_end;

void capture_start(void) {
    main_stack_end = (uintptr_t)environ;
}

/* ---- memory that may not be there ------------------------------------- */

/* process_vm_readv(2) of ourselves cannot fault, whatever other threads unmap; it
 * stops at the piece that is not readable. */
static size_t peek_by_kernel(void *to, uintptr_t from, size_t bytes) {
    struct iovec here = {to, bytes}, there[PIECES];
    unsigned count = 0;
    for (size_t done = 0; done < bytes; count++) {
        size_t piece = PAGE - (from + done) % PAGE;
        if (piece > bytes - done)
            piece = bytes - done;
        there[count] =
            (struct iovec){(void *)(from + done), piece}; // NOLINT(performance-no-int-to-ptr)
        done += piece;
    }
    long got = raw6(SYS_process_vm_readv, raw0(SYS_getpid), (long)&here, 1, (long)there, count, 0);
    return got > 0 ? (size_t)got : 0;
}

/* Neither memcpy nor a loop that becomes one: a sanitizer's would complain of what lies
 * between the variables of a stack. */
__attribute__((no_sanitize("address", "thread"))) static void
copy(char *to, const volatile char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

/* Where a seccomp filter came with us (a container's, a service manager's), a call that it
 * does not know may end the process. */
static size_t peek_page_by_page(char *to, uintptr_t from, size_t bytes) {
    size_t done = 0;
    while (done < bytes && readable_by_kernel(from + done, 1)) {
        size_t piece = PAGE - (from + done) % PAGE;
        if (piece > bytes - done)
            piece = bytes - done;
        copy(to + done, (const char *)(from + done), piece); // NOLINT(performance-no-int-to-ptr)
        done += piece;
    }
    return done;
}

size_t capture_peek(void *to, uintptr_t from, size_t bytes) {
    static uint8_t filtered; /* 1: no, 2: yes */
    if (!LOAD(&filtered))
        STORE(&filtered, raw1(SYS_prctl, PR_GET_SECCOMP) == 0 ? 1 : 2);
    if (bytes > SEGMENT_STACK)
        bytes = SEGMENT_STACK;
    return LOAD(&filtered) == 1 ? peek_by_kernel(to, from, bytes)
                                : peek_page_by_page(to, from, bytes);
}

/* ---- this thread ------------------------------------------------------ */

/* What an unwinder starts from: the registers that a call preserves, the stack
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
#else
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
#endif
}

static uintptr_t lower(uintptr_t a, uintptr_t end, uintptr_t sp) {
    return end > sp && end < a ? end : a;
}

__attribute__((noinline)) void capture(struct segment_write *to, const struct evidence_write *w) {
    memset(to->registers, 0, sizeof(to->registers));
    to->register_count = registers_now(to->registers);
#if defined(__x86_64__)
    uintptr_t sp = to->registers[7];
#else
    uintptr_t sp = to->registers[31];
#endif
    uintptr_t end = lower(sp + SEGMENT_STACK, main_stack_end, sp);
    end = lower(end, (uintptr_t)raw_thread_pointer(), sp);
    to->stack_bytes = (uint32_t)capture_peek(to->stack, sp, end - sp);
    to->bytes = w->bytes;
    to->when_ns = clock_now();
    to->thread = (uint32_t)raw0(SYS_gettid);
    to->fd = (uint32_t)w->fd;
}
