/* SPDX-License-Identifier: MIT
 *
 * The situation `lean` of every_name.c: how often a call allocates, and how much stack it needs.  Each is
 * made as the first of a thread, because the library then learns of the thread; and once more on a
 * connection, where it takes a descriptor and harms nobody.  The program has more keys of threads than libc
 * keeps in a thread.
 */
enum { KEYS = 40, LEAN_STACK = 1 << 18, PAINT = 0x5a, FRAME = 192 };

static bool lean_runs;
static int allocations;
static volatile unsigned char *lean_stack, *last_stack; /* last_stack is shared with children */
static long needed;

/* libc's own calls come here, too. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

void *malloc(size_t bytes) {
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *before, size_t bytes) {
    allocations++;
    return __libc_realloc(before, bytes);
}

/* No memset: its own frame lies in what is painted. */
static void lean_before(void) {
    if (!lean_runs) return;
    volatile unsigned char *end = (volatile unsigned char *)__builtin_frame_address(0) - FRAME;
    for (volatile unsigned char *at = lean_stack; at < end; at++) *at = PAINT;
}

static long depth(volatile unsigned char *stack, volatile unsigned char *from) {
    while (stack < from && *stack == PAINT) stack++;
    return from - stack;
}

static void lean_after(void) {
    if (!lean_runs) return;
    long now = depth(lean_stack, (volatile unsigned char *)__builtin_frame_address(0));
    if (now > needed) needed = now;
}

#define LEAN(call)            \
    __extension__({           \
        lean_before();        \
        long made_ = (call);  \
        lean_after();         \
        made_;                \
    })

/* ---- the last call of a child, on a stack that its parent sees -------------- */

static struct {
    call_t *call;
    const long *a;
} last_made;

static void make_last(void) {
    last_made.call(last_made.a[0], last_made.a[1], 0, 0, 0, 0);
    raw_call(SYS_exit_group, 9, 0, 0, 0, 0);
}

/* Not that of which two processes return, here and there: they would share the stack. */
static void lean_last(const char *name, call_t *call, const long *a) {
    static ucontext_t here, there;
    if (!lean_runs || strcmp(name, "daemon") == 0) {
        call(a[0], a[1], 0, 0, 0, 0);
        return;
    }
    last_made.call = call, last_made.a = a;
    getcontext(&there);
    there.uc_stack.ss_sp = (void *)(uintptr_t)last_stack;
    there.uc_stack.ss_size = LEAN_STACK;
    makecontext(&there, make_last, 0);
    swapcontext(&here, &there);
}

static void lean_last_begins(void) {
    for (size_t i = 0; lean_runs && i < LEAN_STACK; i++) last_stack[i] = PAINT;
}

static void lean_last_ended(void) {
    if (lean_runs) needed = depth(last_stack, last_stack + LEAN_STACK);
}
