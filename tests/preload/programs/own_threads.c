/* SPDX-License-Identifier: MIT
 *
 * How many tasks this process has after exchanges of the plain pattern.  With argv[5] == "thread" it
 * has started a thread of its own before, with "task" one that libc does not know.  Before each exchange it
 * pauses for argv[6] ms.
 */
#ifdef __i386__
#include <asm/ldt.h>
#endif
#include <sys/stat.h>

#include "client.h"

static useconds_t pause_us;

static void exchange(int fd) {
    if (pause_us) usleep(pause_us);
    two_writes(fd);
}

static int tasks(void) {
    struct stat st;
    CHECK(stat("/proc/self/task", &st) == 0);
    return (int)st.st_nlink - 2;
}

static void *stays(void *unused) {
    for (;;) pause();
    return unused;
}

/* Made of nothing of libc's: it may not even touch thread-local storage. */
static int sleeps(void *unused) {
    (void)unused;
    struct timespec while_we_work = {60, 0};
    raw_call(SYS_nanosleep, (long)&while_we_work, 0, 0, 0, 0);
    return 0;
}

static void start_task(void) {
    static _Alignas(16) char stack[1 << 16], storage[1 << 16];
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_SETTLS;
    memset(storage, 0, sizeof storage);
    void *pointer = storage + sizeof storage / 2;
    *(void **)pointer = pointer;
#ifdef __i386__ /* the thread pointer is the base of a segment */
    unsigned short selector;
    __asm__("movw %%gs, %0" : "=r"(selector));
    static struct user_desc segment = {.limit = 0xfffff, .seg_32bit = 1, .limit_in_pages = 1, .useable = 1};
    segment.entry_number = selector >> 3;
    segment.base_addr = (unsigned)(uintptr_t)pointer;
    pointer = &segment;
#endif
    CHECK(clone(sleeps, stack + sizeof stack, flags, NULL, NULL, pointer, NULL) > 0);
}

int main(int argc, char **argv) {
    pthread_t other;
    CHECK(argc == 7);
    pause_us = (useconds_t)atoi(argv[6]) * 1000;
    client_t client = client_arguments(argc, argv);
    if (strcmp(argv[5], "thread") == 0) CHECK(pthread_create(&other, NULL, stays, NULL) == 0);
    if (strcmp(argv[5], "task") == 0) start_task();
    int before = tasks();
    int fd = connect_to(client);
    run_exchanges(fd, client.count, exchange);
    ADD_FACT("\"before\": %d, \"after\": %d", before, tasks());
    return report();
}
