/* SPDX-License-Identifier: MIT
 *
 * Tells whether memory of the application may be read.  The library reads it only after the kernel has read
 * it, or if these functions return true: a bad pointer must reach the kernel, which returns EFAULT.  Most
 * pointers lead to the calling thread's stack, to the program's own data or to the heap of brk(2), whose end
 * libc knows: the check takes a few instructions.  For all others it asks the kernel, page by page (0.1 µs
 * each).  It does not cover memory that another thread unmaps between the check and the read.
 */
#ifndef UNSTALL_READABLE_H
#define UNSTALL_READABLE_H

#include "base.h"
#include "raw.h"

struct readable_known {
    uintptr_t stack_end;                  /* of the main thread */
    uintptr_t program_begin, program_end; /* the mapped part of the program's file, and its bss */
    uintptr_t heap_begin;                 /* 0: not known */
};

extern INTERNAL struct readable_known readable_known;

void readable_start(void);

/* glibc's present end of the heap.  Other libcs lack this symbol. */
extern char *__curbrk __attribute__((weak));

/* Asks the kernel, page by page. */
bool readable_by_kernel(uintptr_t at, size_t bytes);

static inline bool lies_within(uintptr_t at, size_t bytes, uintptr_t begin, uintptr_t end) {
    return at >= begin && at < end && bytes <= end - at;
}

/* The end of the stack that contains `sp`, or `sp` if it is none of libc's.  Other mappings, as stacks
 * of coroutines, lie below a thread's control block by at least PTHREAD_STACK_MIN, and below the
 * main thread's stack by at least the gap into which the kernel lets it grow. */
static inline uintptr_t stack_end(uintptr_t sp) {
    enum { THREAD = 16 << 10, MAIN = 8 << 20 };
    if (LIKELY(readable_known.stack_end - sp < MAIN))
        return readable_known.stack_end;
    uintptr_t tp = (uintptr_t)raw_thread_pointer(); /* at the upper end of a thread's stack */
    return tp - sp < THREAD ? tp : sp;
}

static inline bool lies_on_stack(const void *start, size_t bytes) {
    uintptr_t at = (uintptr_t)start, sp = stack_pointer();
    return at >= sp && lies_within(at, bytes, sp, stack_end(sp));
}

static inline bool lies_in_data(const void *start, size_t bytes) {
    uintptr_t at = (uintptr_t)start;
    const struct readable_known *k = &readable_known;
    return lies_within(at, bytes, k->program_begin, k->program_end) ||
           (k->heap_begin && lies_within(at, bytes, k->heap_begin, (uintptr_t)__curbrk));
}

/* True only if it is certain without a system call. */
static inline bool surely_readable(const void *start, size_t bytes) {
    return lies_on_stack(start, bytes) || lies_in_data(start, bytes);
}

bool readable_elsewhere(const void *start, size_t bytes);

static inline bool readable(const void *start, size_t bytes) {
    return LIKELY(lies_on_stack(start, bytes)) || readable_elsewhere(start, bytes);
}

#endif
