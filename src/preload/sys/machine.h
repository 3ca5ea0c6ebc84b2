/* SPDX-License-Identifier: MIT
 *
 * What differs by processor: the system call instruction, the thread pointer, the stack pointer, a pause.
 * (jump*.S have the calls that no C function can wrap, stacks.c the registers of a stack snapshot.)
 *
 * For a processor that is not listed here (MACHINE_UNKNOWN) the library passes every call through: its gate
 * stays shut (gate.c), because without jump.S it could not mark the child of a vfork, which would end the
 * holds of its parent and report.  libc makes the few system calls of what else uses this file.
 *
 * MACHINE_TLS_HEAD, MACHINE_TLS_HEAD_BYTES: the place, from the thread pointer, and the size of libc's
 * control block of a thread.  Compiled code reads it (the canary), so a thread of ours gets a copy of it.
 * Thread-locals may begin behind it, so nothing more is copied.
 */
#ifndef UNSTALL_MACHINE_H
#define UNSTALL_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* raw6() of a processor whose instruction `call` returns the error, too, in the first argument's register. */
#define RAW6(call, number, first, second, third, fourth, fifth, sixth)                          \
    static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {           \
        register long n_ __asm__(number) = n;                                                   \
        register long a_ __asm__(first) = a;                                                    \
        register long b_ __asm__(second) = b;                                                   \
        register long c_ __asm__(third) = c;                                                    \
        register long d_ __asm__(fourth) = d;                                                   \
        register long e_ __asm__(fifth) = e;                                                    \
        register long f_ __asm__(sixth) = f;                                                    \
        __asm__ volatile(call                                                                   \
                         : "+r"(a_)                                                             \
                         : "r"(n_), "r"(b_), "r"(c_), "r"(d_), "r"(e_), "r"(f_)                 \
                         : "memory");                                                           \
        return a_;                                                                              \
    }

#if defined(UNSTALL_UNKNOWN_PROCESSOR) /* for tests on other processors */
#define MACHINE_UNKNOWN

#elif defined(__x86_64__)

#define MACHINE_TLS_HEAD_BYTES    64
#define MACHINE_THREAD_POINTER(p) __asm__("movq %%fs:0, %0" : "=r"(p)) /* gcc 11's builtin is not clang's */
#define MACHINE_STACK_POINTER(p)  __asm__("movq %%rsp, %0" : "=r"(p))
#define MACHINE_PAUSE             "pause"

static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__i386__)

#define MACHINE_VDSO              "linux-gate.so.1"
#define MACHINE_TLS_HEAD_BYTES    64
#define MACHINE_THREAD_POINTER(p) __asm__("movl %%gs:0, %0" : "=r"(p))
#define MACHINE_STACK_POINTER(p)  __asm__("movl %%esp, %0" : "=r"(p))
#define MACHINE_PAUSE             "pause"

#define RAW6_PUSH(register) \
    "pushl %" register "\n\t.cfi_adjust_cfa_offset 4\n\t.cfi_rel_offset %" register ", 0\n\t"
#define RAW6_POP(register) \
    "popl %" register "\n\t.cfi_adjust_cfa_offset -4\n\t.cfi_restore %" register "\n\t"

/* The sixth argument goes in ebp, which may be the frame pointer.  A function of its own, so that a stack
 * can be unwound at each instruction: a thread may be cancelled asynchronously (one run in 15 crashed). */
__attribute__((naked, noinline, noclone, regparm(0), unused)) static long
raw6(long n __attribute__((unused)), long a __attribute__((unused)), long b __attribute__((unused)),
     long c __attribute__((unused)), long d __attribute__((unused)), long e __attribute__((unused)),
     long f __attribute__((unused))) {
    __asm__(RAW6_PUSH("ebp") RAW6_PUSH("edi") RAW6_PUSH("esi") RAW6_PUSH("ebx")
            "movl 20(%esp), %eax\n\t"
            "movl 24(%esp), %ebx\n\t"
            "movl 28(%esp), %ecx\n\t"
            "movl 32(%esp), %edx\n\t"
            "movl 36(%esp), %esi\n\t"
            "movl 40(%esp), %edi\n\t"
            "movl 44(%esp), %ebp\n\t"
            "int $0x80\n\t"
            RAW6_POP("ebx") RAW6_POP("esi") RAW6_POP("edi") RAW6_POP("ebp")
            "ret");
}

#elif defined(__aarch64__)

#define MACHINE_VDSO_CLOCK        "__kernel_clock_gettime"
#define MACHINE_TLS_HEAD_BYTES    16
#define MACHINE_THREAD_POINTER(p) __asm__("mrs %0, tpidr_el0" : "=r"(p))
#define MACHINE_STACK_POINTER(p)  __asm__("mov %0, sp" : "=r"(p))
#define MACHINE_PAUSE             "yield"
RAW6("svc 0", "x8", "x0", "x1", "x2", "x3", "x4", "x5")

#elif defined(__arm__)

#define MACHINE_TLS_HEAD_BYTES    8
#define MACHINE_THREAD_POINTER(p) ((p) = __builtin_thread_pointer())
#define MACHINE_STACK_POINTER(p)  __asm__("mov %0, sp" : "=r"(p))
#if __ARM_ARCH >= 7
#define MACHINE_PAUSE "yield"
#endif

/* The number goes in r7, which is the frame pointer of Thumb code. */
static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    long kept;
    register long r0 __asm__("r0") = a;
    register long r1 __asm__("r1") = b;
    register long r2 __asm__("r2") = c;
    register long r3 __asm__("r3") = d;
    register long r4 __asm__("r4") = e;
    register long r5 __asm__("r5") = f;
    __asm__ volatile("mov %[kept], r7\n\t"
                     "mov r7, %[n]\n\t"
                     "svc 0\n\t"
                     "mov r7, %[kept]"
                     : "+r"(r0), [kept] "=&r"(kept)
                     : [n] "r"(n), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                     : "memory");
    return r0;
}

#elif defined(__riscv) && __riscv_xlen == 64

#define MACHINE_TLS_HEAD          (-16)
#define MACHINE_TLS_HEAD_BYTES    16
#define MACHINE_THREAD_POINTER(p) __asm__("mv %0, tp" : "=r"(p))
#define MACHINE_STACK_POINTER(p)  __asm__("mv %0, sp" : "=r"(p))
RAW6("ecall", "a7", "a0", "a1", "a2", "a3", "a4", "a5")

#elif defined(__s390x__)

#define MACHINE_VDSO              "linux-vdso64.so.1"
#define MACHINE_VDSO_CLOCK        "__kernel_clock_gettime"
#define MACHINE_TLS_HEAD_BYTES    64
#define MACHINE_THREAD_POINTER(p) ((p) = __builtin_thread_pointer())
#define MACHINE_STACK_POINTER(p)  __asm__("lgr %0, %%r15" : "=r"(p))
RAW6("svc 0", "r1", "r2", "r3", "r4", "r5", "r6", "r7")

#else
#define MACHINE_UNKNOWN
#endif

#ifdef MACHINE_UNKNOWN

#include <errno.h>
#include <unistd.h>

#define MACHINE_TLS_HEAD_BYTES    0
#define MACHINE_THREAD_POINTER(p) ((p) = NULL)
#define MACHINE_STACK_POINTER(p)  ((p) = (uintptr_t)__builtin_frame_address(0))

static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    int saved = errno;
    long result = syscall(n, a, b, c, d, e, f);
    if (result == -1)
        result = -errno;
    errno = saved;
    return result;
}

#endif

#ifndef MACHINE_VDSO
#define MACHINE_VDSO "linux-vdso.so.1"
#endif
#ifndef MACHINE_VDSO_CLOCK
#define MACHINE_VDSO_CLOCK "__vdso_clock_gettime"
#endif
#ifndef MACHINE_TLS_HEAD
#define MACHINE_TLS_HEAD 0
#endif

/* The base of the thread's static thread-local storage. */
static inline char *raw_thread_pointer(void) {
    char *at;
    MACHINE_THREAD_POINTER(at);
    return at;
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t at;
    MACHINE_STACK_POINTER(at);
    return at;
}

static inline void relax(void) {
#ifdef MACHINE_PAUSE
    __asm__ volatile(MACHINE_PAUSE);
#endif
}

#endif
