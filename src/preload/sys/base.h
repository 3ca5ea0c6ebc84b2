/* SPDX-License-Identifier: MIT
 *
 * What most files of the preloaded library use: macros, and these headers of libc.  All symbols are hidden
 * (-fvisibility=hidden), except those marked EXPORT.
 */
#ifndef UNSTALL_BASE_H
#define UNSTALL_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT        __attribute__((visibility("default")))
/* -fvisibility=hidden concerns definitions only: without this the compiler takes the address of another
 * file's variable first, which costs one instruction more. */
#define INTERNAL      __attribute__((visibility("hidden")))
#define LIKELY(x)     __builtin_expect(!!(x), 1)
#define UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
/* A part of a path whose instructions count, and a part that is left out of it. */
#define INLINE        static inline __attribute__((always_inline))
#define COLD          static __attribute__((noinline, cold))
/* An exported function forwards the simple cases itself.  All other work is in functions that are not
 * inlined, so that only they save registers. */
#define NOINLINE      static __attribute__((noinline))

/* Relaxed atomics on plain objects: single words that are read without a lock. */
#define LOAD(p)             __atomic_load_n((p), __ATOMIC_RELAXED)
#define STORE(p, v)         __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define LOAD_ACQUIRE(p)     __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define STORE_RELEASE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/* True: *p was *expected and is `wanted` now, with that order.  Else *expected is now *p, read relaxed. */
#define REPLACE(p, expected, wanted, order) \
    __atomic_compare_exchange_n((p), (expected), (wanted), false, (order), __ATOMIC_RELAXED)

#endif
