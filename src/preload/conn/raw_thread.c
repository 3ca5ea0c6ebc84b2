/* SPDX-License-Identifier: MIT */
#include "raw_thread.h"

#include <linux/futex.h>

#if defined(__i386__)
#include <asm/ldt.h>
#endif

#include "real.h"
#include "lock.h"

enum {
    GUARD = 65536, /* the largest page of Linux's architectures */
    STACK = 131072,
    MARGIN = 4096,          /* beyond our thread-locals: libc's control block of a thread */
    STORAGE_MOST = 1 << 26, /* a program with more static thread-local storage gets no thread */
    ALIGNMENT = 64,
    GONE_LOOKS = 64,   /* before the first sleep */
    GONE_SLEEP_NS = 50000,
    WAIT_NS = 50000000,
    WAITS = 3,
    STARTS = -1, /* the id of a thread of libc until it runs */
    GONE_TRIES = 1000, /* by then the number must belong to another thread */
};

/* Defined by a sanitizer's runtime, if the process has one. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* True if libc must make the thread: a sanitizer knows only threads of libc. */
static bool by_libc_only(void) {
    return __asan_init || __hwasan_init || __msan_init || __tsan_init;
}

/* ---- made by clone(2) -------------------------------------------------- */

/* The largest distance of our thread-locals and of errno from the thread pointer, on either side. */
static size_t storage_reach(void) {
    const char *pointer = raw_thread_pointer();
    const char *reached[] = {(const char *)&self, (const char *)&errno};
    size_t most = 0;
    for (size_t i = 0; i < ARRAY_SIZE(reached); i++) {
        size_t far = (size_t)(reached[i] > pointer ? reached[i] - pointer : pointer - reached[i]);
        most = far > most ? far : most;
    }
    return (most + sizeof(self) + MARGIN + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* Maps the stack, and above it a zeroed block around the new thread pointer, with a copy of the
 * head of libc's control block. */
static bool make_memory(struct raw_thread *t) {
    size_t reach = storage_reach();
    if (reach > STORAGE_MOST)
        return false;
    if (t->memory) {
        char *storage = t->memory + GUARD + STACK;
        /* the program's own thread-locals lie in between: their pages are never touched */
        if (raw3(SYS_madvise, storage, 2 * reach, MADV_DONTNEED) != 0) /* locked: mlockall(2) */
            memset(storage, 0, 2 * reach);
    } else {
        t->memory = raw_map(GUARD + STACK + 2 * reach);
        if (!t->memory)
            return false;
        raw3(SYS_mprotect, t->memory, GUARD, PROT_NONE);
    }
    char **pointer = (char **)(t->memory + GUARD + STACK + reach);
    memcpy((char *)pointer + MACHINE_TLS_HEAD, raw_thread_pointer() + MACHINE_TLS_HEAD,
           MACHINE_TLS_HEAD_BYTES);
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
    pointer[0] = pointer[2] = (char *)pointer; /* glibc's tcb and self; musl's self is the first */
#endif
    t->storage = pointer;
    return true;
}

static int runs(void *thread) {
    struct raw_thread *t = thread;
    t->run();
    return 0;
}

#if defined(__i386__)
/* The thread pointer is the base of the segment that gs selects (set_thread_area(2)); each thread has a
 * table of its own. */
static struct user_desc segment_at(const void *base) {
    unsigned short selector;
    __asm__("movw %%gs, %0" : "=r"(selector));
    return (struct user_desc){.entry_number = selector >> 3,
                              .base_addr = (unsigned)(uintptr_t)base,
                              .limit = 0xfffff,
                              .seg_32bit = 1,
                              .limit_in_pages = 1,
                              .useable = 1};
}
#endif

static int start_raw(struct raw_thread *t) {
    /* Without CLONE_SYSVSEM: it gives the process a list of semaphores to undo, visible by kcmp(2). */
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                      CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    if (!make_memory(t))
        return -ENOMEM;
    uint64_t before = raw_block_signals(~UINT64_C(0));
#if defined(__i386__)
    struct user_desc segment = segment_at(t->storage), *storage = &segment;
#else
    void *storage = t->storage;
#endif
    int id = REAL(clone)(runs, t->memory + GUARD + STACK, flags, t, &t->id, storage, &t->id);
    int error = errno;
    raw_set_signals(before);
    if (id < 0)
        return -error;
    STORE(&t->known_id, id);
    return 0;
}

/* ---- made by libc ------------------------------------------------------ */

static void *runs_by_libc(void *thread) {
    struct raw_thread *t = thread;
    const int id = (int)raw0(SYS_gettid);
    STORE(&t->known_id, id); /* another thread may still be about to clear that of the last one */
    STORE_RELEASE(&t->id, id);
    t->run();
    STORE_RELEASE(&t->id, 0); /* as the kernel does for the other kind */
    raw4(SYS_futex, &t->id, FUTEX_WAKE, INT32_MAX, NULL);
    return NULL;
}

static uint32_t program_makes; /* threads: calls under way */

void raw_thread_program_creates(void) {
    __atomic_fetch_add(&program_makes, 1, __ATOMIC_SEQ_CST);
}

void raw_thread_program_created(void) {
    __atomic_fetch_sub(&program_makes, 1, __ATOMIC_SEQ_CST);
}

/* The signals from 32 to below SIGRTMIN, which libc reserves: SIGRTMIN is a call, because libcs differ. */
static uint64_t signals_of_libc(void) {
    enum { FIRST = 32 };
    return ((UINT64_C(1) << (SIGRTMIN - FIRST)) - 1) << (FIRST - 1);
}

/* Detached: ThreadSanitizer reports a joinable thread that is not joined by the end of the program. */
static int start_by_libc(struct raw_thread *t) {
    pthread_t made;
    pthread_attr_t detached;
    if (LOAD(&program_makes) || self.joins)
        return -EBUSY; /* a handler has interrupted libc, which may hold the lock of its stacks */
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    STORE(&t->id, STARTS);
    /* setuid(2) hangs if a thread blocks SIGSETXID */
    uint64_t before = raw_block_signals(~signals_of_libc());
    int error = REAL(pthread_create)(&made, &detached, runs_by_libc, t);
    raw_set_signals(before);
    pthread_attr_destroy(&detached);
    if (error)
        STORE(&t->id, 0);
    return -error;
}

/* ------------------------------------------------------------------------ */

bool raw_thread_is_gone(const struct raw_thread *t) {
    return LOAD_ACQUIRE(&t->id) == 0 || raw0(SYS_getpid) != t->process;
}

static bool wait_until_gone(struct raw_thread *t) {
    /* Bounded: a handler may fork during this wait; its child, which has no such thread, returns into it. */
    const struct timespec most = {.tv_nsec = WAIT_NS};
    for (int i = 0, waits = 0; i < GONE_TRIES && waits < WAITS && !raw_thread_is_gone(t); i++)
        waits += raw4(SYS_futex, &t->id, FUTEX_WAIT, LOAD(&t->id), &most) == -ETIMEDOUT;
    return raw_thread_is_gone(t);
}

int raw_thread_start(struct raw_thread *t, void (*run)(void)) {
    int saved = errno;
    if (!wait_until_gone(t)) /* the next thread uses its stack */
        return -EBUSY;
    t->run = run;
    t->process = (int)raw0(SYS_getpid);
    /* ThreadSanitizer ends the forked child of a threaded program if that child starts a thread */
    int error = !by_libc_only() ? start_raw(t) : t->after_fork ? -ENOTSUP : start_by_libc(t);
    errno = saved;
    return error;
}

/* The kernel clears `id` before it removes the thread from the thread group. */
void raw_thread_join(struct raw_thread *t) {
    if (!wait_until_gone(t))
        return;
    int id = LOAD(&t->known_id);
    for (int i = 0; id && i < GONE_TRIES; i++) {
        if (raw3(SYS_tgkill, raw0(SYS_getpid), id, 0) != 0)
            break;
        if (i >= GONE_LOOKS)
            raw_sleep(GONE_SLEEP_NS);
    }
    REPLACE(&t->known_id, &id, 0, __ATOMIC_RELAXED); /* or another thread has started the next one */
}

void raw_thread_forked(struct raw_thread *t) {
    t->id = t->known_id = 0;
    t->after_fork = true;
    STORE(&program_makes, 0);
}
