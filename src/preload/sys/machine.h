/* SPDX-License-Identifier: MIT
 *
 * What differs by processor: the system call instruction, the thread pointer, the stack pointer, a pause.
 * (jump*.S have the calls that no C function can wrap, stack_snapshot.c the registers of a stack snapshot.)
 *
 * For a processor that is not listed here (MACHINE_UNKNOWN) libc makes the system calls.  The library then
 * exports neither vfork nor syscall, and pthread_create makes the window's thread.
 *
 * MACHINE_TLS_HEAD, MACHINE_TLS_HEAD_BYTES: the place, from the thread pointer, and the size of libc's
 * control block of a thread.  Compiled code reads it (the canary), so a thread of ours gets a copy of it.
 * Thread-locals may begin behind it, so nothing more is copied.
 */
#ifndef UNSTALL_MACHINE_H
#define UNSTALL_MACHINE_H

#include <stdint.h>

#if defined(UNSTALL_UNKNOWN_PROCESSOR) /* for tests on other processors */
#define MACHINE_UNKNOWN

#elif defined(__x86_64__)

#define MACHINE_ELF            EM_X86_64
#define MACHINE_VDSO           "linux-vdso.so.1"
#define MACHINE_VDSO_CLOCK     "__vdso_clock_gettime"
#define MACHINE_TLS_HEAD       0
#define MACHINE_TLS_HEAD_BYTES 64

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

/* The base of the thread's static thread-local storage (gcc 11's builtin is not clang's). */
static inline char *raw_thread_pointer(void) {
    char *at;
    __asm__("movq %%fs:0, %0" : "=r"(at));
    return at;
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("movq %%rsp, %0" : "=r"(sp));
    return sp;
}

static inline void relax(void) {
    __builtin_ia32_pause();
}

#elif defined(__i386__)

#define MACHINE_ELF            EM_386
#define MACHINE_VDSO           "linux-gate.so.1"
#define MACHINE_VDSO_CLOCK     "__vdso_clock_gettime"
#define MACHINE_TLS_HEAD       0
#define MACHINE_TLS_HEAD_BYTES 64

#define MACHINE_RAW5
static inline long raw5_long(long n, long a, long b, long c, long d, long e) {
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e)
                     : "memory");
    return result;
}

/* The sixth argument goes in ebp, which may be the frame pointer.  A function of its own, so that a stack
 * can be unwound at each instruction: a thread may be cancelled asynchronously (one run in 15 crashed). */
__attribute__((naked, noinline, noclone, regparm(0), unused)) static long
raw6(long n __attribute__((unused)), long a __attribute__((unused)), long b __attribute__((unused)),
     long c __attribute__((unused)), long d __attribute__((unused)), long e __attribute__((unused)),
     long f __attribute__((unused))) {
    __asm__("pushl %ebp\n\t"
            ".cfi_adjust_cfa_offset 4\n\t"
            ".cfi_rel_offset %ebp, 0\n\t"
            "pushl %edi\n\t"
            ".cfi_adjust_cfa_offset 4\n\t"
            ".cfi_rel_offset %edi, 0\n\t"
            "pushl %esi\n\t"
            ".cfi_adjust_cfa_offset 4\n\t"
            ".cfi_rel_offset %esi, 0\n\t"
            "pushl %ebx\n\t"
            ".cfi_adjust_cfa_offset 4\n\t"
            ".cfi_rel_offset %ebx, 0\n\t"
            "movl 20(%esp), %eax\n\t"
            "movl 24(%esp), %ebx\n\t"
            "movl 28(%esp), %ecx\n\t"
            "movl 32(%esp), %edx\n\t"
            "movl 36(%esp), %esi\n\t"
            "movl 40(%esp), %edi\n\t"
            "movl 44(%esp), %ebp\n\t"
            "int $0x80\n\t"
            "popl %ebx\n\t"
            ".cfi_adjust_cfa_offset -4\n\t"
            ".cfi_restore %ebx\n\t"
            "popl %esi\n\t"
            ".cfi_adjust_cfa_offset -4\n\t"
            ".cfi_restore %esi\n\t"
            "popl %edi\n\t"
            ".cfi_adjust_cfa_offset -4\n\t"
            ".cfi_restore %edi\n\t"
            "popl %ebp\n\t"
            ".cfi_adjust_cfa_offset -4\n\t"
            ".cfi_restore %ebp\n\t"
            "ret");
}

static inline char *raw_thread_pointer(void) {
    char *at;
    __asm__("movl %%gs:0, %0" : "=r"(at));
    return at;
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("movl %%esp, %0" : "=r"(sp));
    return sp;
}

static inline void relax(void) {
    __builtin_ia32_pause();
}

#elif defined(__aarch64__)

#define MACHINE_ELF            EM_AARCH64
#define MACHINE_VDSO           "linux-vdso.so.1"
#define MACHINE_VDSO_CLOCK     "__kernel_clock_gettime"
#define MACHINE_TLS_HEAD       0
#define MACHINE_TLS_HEAD_BYTES 16

static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

static inline char *raw_thread_pointer(void) {
    char *at;
    __asm__("mrs %0, tpidr_el0" : "=r"(at));
    return at;
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("mov %0, sp" : "=r"(sp));
    return sp;
}

static inline void relax(void) {
    __asm__ volatile("yield");
}

#elif defined(__arm__)

#define MACHINE_ELF            EM_ARM
#define MACHINE_VDSO           "linux-vdso.so.1"
#define MACHINE_VDSO_CLOCK     "__vdso_clock_gettime"
#define MACHINE_TLS_HEAD       0
#define MACHINE_TLS_HEAD_BYTES 8

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

static inline char *raw_thread_pointer(void) {
    return __builtin_thread_pointer();
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("mov %0, sp" : "=r"(sp));
    return sp;
}

static inline void relax(void) {
#if __ARM_ARCH >= 7
    __asm__ volatile("yield");
#endif
}

#elif defined(__riscv) && __riscv_xlen == 64

#define MACHINE_ELF            EM_RISCV
#define MACHINE_VDSO           "linux-vdso.so.1"
#define MACHINE_VDSO_CLOCK     "__vdso_clock_gettime"
#define MACHINE_TLS_HEAD       (-16)
#define MACHINE_TLS_HEAD_BYTES 16

static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    register long a7 __asm__("a7") = n;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                     : "memory");
    return a0;
}

static inline char *raw_thread_pointer(void) {
    char *at;
    __asm__("mv %0, tp" : "=r"(at));
    return at;
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("mv %0, sp" : "=r"(sp));
    return sp;
}

static inline void relax(void) {}

#elif defined(__powerpc64__) && _CALL_ELF == 2

#define MACHINE_ELF            EM_PPC64
#define MACHINE_VDSO           "linux-vdso64.so.1"
#define MACHINE_VDSO_CLOCK     "__kernel_clock_gettime"
#define MACHINE_TLS_HEAD       (-0x7000 - 64) /* the thread pointer is 0x7000 behind the block */
#define MACHINE_TLS_HEAD_BYTES 64

/* The kernel marks an error in cr0 and returns it positive. */
static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    register long r0 __asm__("r0") = n;
    register long r3 __asm__("r3") = a;
    register long r4 __asm__("r4") = b;
    register long r5 __asm__("r5") = c;
    register long r6 __asm__("r6") = d;
    register long r7 __asm__("r7") = e;
    register long r8 __asm__("r8") = f;
    __asm__ volatile("sc\n\t"
                     "bns+ 1f\n\t"
                     "neg %1, %1\n"
                     "1:"
                     : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
                     :
                     : "memory", "cr0", "ctr", "r9", "r10", "r11", "r12");
    return r3;
}

static inline char *raw_thread_pointer(void) {
    char *at;
    __asm__("mr %0, 13" : "=r"(at));
    return at;
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("mr %0, 1" : "=r"(sp));
    return sp;
}

static inline void relax(void) {
    __asm__ volatile("or 31, 31, 31"); /* low priority of the hardware thread, */
    __asm__ volatile("or 2, 2, 2");    /* and medium again */
}

#elif defined(__s390x__)

#define MACHINE_ELF            EM_S390
#define MACHINE_VDSO           "linux-vdso64.so.1"
#define MACHINE_VDSO_CLOCK     "__kernel_clock_gettime"
#define MACHINE_TLS_HEAD       0
#define MACHINE_TLS_HEAD_BYTES 64

static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    register long r1 __asm__("r1") = n;
    register long r2 __asm__("r2") = a;
    register long r3 __asm__("r3") = b;
    register long r4 __asm__("r4") = c;
    register long r5 __asm__("r5") = d;
    register long r6 __asm__("r6") = e;
    register long r7 __asm__("r7") = f;
    __asm__ volatile("svc 0"
                     : "+d"(r2)
                     : "d"(r1), "d"(r3), "d"(r4), "d"(r5), "d"(r6), "d"(r7)
                     : "memory");
    return r2;
}

static inline char *raw_thread_pointer(void) {
    return __builtin_thread_pointer();
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t sp;
    __asm__("lgr %0, %%r15" : "=r"(sp));
    return sp;
}

static inline void relax(void) {}

#else
#define MACHINE_UNKNOWN
#endif

#ifdef MACHINE_UNKNOWN

#include <errno.h>
#include <unistd.h>

#define MACHINE_ELF            EM_NONE
#define MACHINE_VDSO           ""
#define MACHINE_VDSO_CLOCK     ""
#define MACHINE_TLS_HEAD       0
#define MACHINE_TLS_HEAD_BYTES 0

static inline long raw6(long n, long a, long b, long c, long d, long e, long f) {
    int saved = errno;
    long result = syscall(n, a, b, c, d, e, f);
    if (result == -1)
        result = -errno;
    errno = saved;
    return result;
}

static inline char *raw_thread_pointer(void) {
    return NULL;
}

static inline uintptr_t stack_pointer(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

static inline void relax(void) {}

#endif

#ifndef MACHINE_RAW5
#define raw5_long(n, a, b, c, d, e) raw6(n, a, b, c, d, e, 0)
#endif

#endif
