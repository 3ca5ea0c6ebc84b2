/* SPDX-License-Identifier: MIT
 *
 * System calls that no preloaded library can see: the instruction itself.  The programs of the tests use them
 * for all but the calls that a test is about.
 */
#pragma once

#include <sys/syscall.h>

static inline long raw6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
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
#else
#error "no raw system call known for this machine"
#endif
}

#define RAW_ARG(x)          ((long)(x))
#define raw0(n)             raw6((n), 0, 0, 0, 0, 0, 0)
#define raw1(n, a)          raw6((n), RAW_ARG(a), 0, 0, 0, 0, 0)
#define raw2(n, a, b)       raw6((n), RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define raw3(n, a, b, c)    raw6((n), RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define raw4(n, a, b, c, d) raw6((n), RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)
