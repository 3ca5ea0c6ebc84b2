/* SPDX-License-Identifier: MIT
 *
 * Which memory may be read, by its address and by an answer of the kernel.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "readable.h"
#include "unit.h"

TestSuite(readable, .init = readable_start);

/* The caller's stack lies above the asking function's. */
__attribute__((noinline)) static bool certain(const void *start, size_t bytes) {
    return surely_readable(start, bytes);
}

static char *three_pages(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(at != MAP_FAILED && mprotect(at + page, page, PROT_NONE) == 0);
    return at;
}

Test(readable, the_kernel_tells_what_is_there) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = three_pages();
    cr_assert(readable(at, page));
    cr_assert(readable(at + page - 1, 1));
    cr_assert(readable(at + page, 0));
    cr_assert(readable(at + 2 * page, page));
    cr_assert_not(readable(at + page - 1, 2));
    cr_assert_not(readable(at + page, 1));
    cr_assert_not(readable(at, 3 * page));
    cr_assert_not(readable(NULL, 1));
    cr_assert_not(readable((void *)8, 8));
    cr_assert_not(readable((void *)-8, 4));
    cr_assert_not(readable(at, (size_t)-8));
    munmap(at, page);
    cr_assert_not(readable(at, 1));
}

Test(readable, stack_data_and_heap_are_told_without_the_kernel) {
    static char zeroes[100];
    static const char text[] = "in the program's file";
    char here[100] = "";
    char *heap = malloc(100);
    cr_assert(certain(here, sizeof(here)));
    cr_assert(certain(zeroes, sizeof(zeroes)));
    cr_assert(certain(text, sizeof(text)));
    cr_assert(readable(heap, 100)); /* from before the start: looked for once */
    cr_assert(certain(heap, 100));
    free(heap);
}

Test(readable, what_ends_elsewhere_is_not_certain) {
    char *end = sbrk(0), here[8];
    cr_assert(readable(end - 8, 8));
    cr_assert(certain(end - 8, 8));
    cr_assert_not(certain(end - 8, 9));
    cr_assert_not(certain(end, 1));
    cr_assert_not(certain(end - 8, (size_t)-1));
    cr_assert_not(certain(here, 1 << 30));
    cr_assert_not(certain(here, (size_t)-1));
    cr_assert_not(certain(three_pages(), 1));
    cr_assert_not(certain(NULL, 1));
}

/* A heap that shrinks ends where it ends now. */
Test(readable, the_heap_may_shrink) {
    char *end = sbrk(0);
    sbrk(8192);
    cr_assert(certain(end + 8000, 100));
    sbrk(-8192);
    cr_assert_not(certain(end, 1));
}

static void *of_a_thread(void *above) {
    char here[100] = "";
    cr_assert(certain(here, sizeof(here)));
    cr_assert_not(certain(above, 1));
    return NULL;
}

Test(readable, a_thread_knows_its_own_stack) {
    pthread_t thread;
    pthread_create(&thread, NULL, of_a_thread, three_pages());
    pthread_join(thread, NULL);
}

Test(readable, no_page_is_certain_beyond_what_is_known) {
    enum { MAIN = 8 << 20, THREAD = 16 << 10, PAGE = 4096 };
    uintptr_t end = readable_known.stack_end, tp = (uintptr_t)raw_thread_pointer();
    cr_assert_eq(stack_end(end - MAIN + 1), end);
    cr_assert_eq(stack_end(end - MAIN), end - MAIN);
    cr_assert_eq(stack_end(tp - THREAD + 1), tp);
    cr_assert_eq(stack_end(tp - THREAD), tp - THREAD);
    uintptr_t heap = (uintptr_t)sbrk(0);
    cr_assert(readable_known.heap_begin >= heap && readable_known.heap_begin < heap + PAGE);
    cr_assert_eq(readable_known.heap_begin % PAGE, 0);
}
