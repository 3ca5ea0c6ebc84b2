/* SPDX-License-Identifier: MIT */
#include "readable.h"

#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    WORD = 8,            /* bytes that rt_sigprocmask(2) reads */
    HEAP_BEFORE_US = 256 /* pages */
};

struct readable_known readable_known;

/* rt_sigprocmask(2) with an invalid operation reads the set first, then fails: with EFAULT if the
 * memory is not readable, else with EINVAL.  The seccomp filter of a container allows this call,
 * because libc needs it.  The first page is excluded: the call takes NULL for "no set", and
 * nothing is mapped there (vm.mmap_min_addr). */
static bool page_is_readable(uintptr_t at) {
    return at >= PAGE &&
           raw4(SYS_rt_sigprocmask, -1, at & ~(uintptr_t)(WORD - 1), 0, WORD) != -EFAULT;
}

bool readable_by_kernel(uintptr_t at, size_t bytes) {
    uintptr_t last = at + bytes - 1;
    if (bytes == 0)
        return true;
    if (last < at)
        return false;
    for (uintptr_t page = at; page <= last; page = (page | (PAGE - 1)) + 1)
        if (!page_is_readable(page))
            return false;
    return true;
}

/* The first pointer into heap that is older than the library's start makes one search for its begin.  A
 * program without such a pointer has no added call. */
static bool lies_in_earlier_heap(const void *start, size_t bytes) {
    static bool looked;
    uintptr_t begin = readable_known.heap_begin, below = begin - (uintptr_t)start;
    if (!begin || below - 1 >= (uintptr_t)HEAP_BEFORE_US * PAGE ||
        __atomic_exchange_n(&looked, true, __ATOMIC_RELAXED))
        return false;
    for (int i = 0; i < HEAP_BEFORE_US && readable_by_kernel(begin - PAGE, PAGE); i++)
        begin -= PAGE;
    STORE(&readable_known.heap_begin, begin);
    return lies_in_data(start, bytes);
}

bool readable_elsewhere(const void *start, size_t bytes) {
    return lies_in_data(start, bytes) || lies_in_earlier_heap(start, bytes) ||
           readable_by_kernel((uintptr_t)start, bytes);
}

/* ---- at start --------------------------------------------------------- */

/* Finds the last run of the program's loaded segments without a gap; nearly always it has all of them. */
static void find_program(struct readable_known *k) {
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = headers ? getauxval(AT_PHNUM) : 0;
    uintptr_t bias = 0;
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_PHDR)
            bias = (uintptr_t)headers - headers[i].p_vaddr;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_R))
            continue;
        uintptr_t begin = (bias + headers[i].p_vaddr) & ~(uintptr_t)(PAGE - 1);
        if (begin != ((k->program_end + PAGE - 1) & ~(uintptr_t)(PAGE - 1)))
            k->program_begin = begin;
        k->program_end = bias + headers[i].p_vaddr + headers[i].p_memsz;
    }
}

void readable_start(void) {
    readable_known.stack_end = getauxval(AT_RANDOM); /* the kernel puts 16 bytes there */
    find_program(&readable_known);
    if (&__curbrk)
        readable_known.heap_begin = ((uintptr_t)sbrk(0) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
}
