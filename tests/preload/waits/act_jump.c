/* SPDX-License-Identifier: MIT
 *
 * Jumping out of a signal handler that interrupted the library at work: where
 * bytes are buffered, a buffer that cannot be read faults inside of it.  The
 * connection must go on as if nothing had happened.
 */
#include "acts.h"

#include <setjmp.h>
#include <sys/mman.h>

extern _Noreturn void plain_jump(struct __jmp_buf_tag *, int) SYMBOL("longjmp");
extern _Noreturn void other_jump(struct __jmp_buf_tag *, int) SYMBOL("_longjmp");
extern _Noreturn void signal_jump(struct __jmp_buf_tag *, int) SYMBOL("siglongjmp");
extern _Noreturn void checked_jump(struct __jmp_buf_tag *, int) SYMBOL("__longjmp_chk");

static void (*jump)(struct __jmp_buf_tag *, int);
static sigjmp_buf place;
static void *unreadable;

static void unreadable_page(void) {
    unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unreadable == MAP_FAILED)
        fail("mmap");
}

static void on_fault(int number) {
    (void)number;
    jump(place, 1);
}

/* Bare, the write returns EFAULT, and no jump follows. */
static long fault_and_go_on(int connection, void (*by)(struct __jmp_buf_tag *, int)) {
    struct sigaction action = {.sa_handler = on_fault};
    jump = by;
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(place, 1) == 0)
        send(connection, unreadable, 8, 0);
    hold_now(connection);
    return poll(NULL, 0, WAIT_MS);
}

ACT(longjmp, unreadable_page, UNHELD, fault_and_go_on(connection, plain_jump))
ACT(_longjmp, unreadable_page, UNHELD, fault_and_go_on(connection, other_jump))
ACT(siglongjmp, unreadable_page, UNHELD, fault_and_go_on(connection, signal_jump))
ACT(__longjmp_chk, unreadable_page, UNHELD, fault_and_go_on(connection, checked_jump))
