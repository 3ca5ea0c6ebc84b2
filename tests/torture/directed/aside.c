/* SPDX-License-Identifier: MIT
 *
 * Writes of signal handlers to a connection that is in use beneath them, and the writes that follow.
 */
#include "directed.h"

enum { HANDLERS_TURN, THREADS_TURN, OVER, LONGEST_MS = 1500, ENOUGH = 20, ROUNDS = 20000 };

static struct pair shared;
static uint32_t turn, rounds;

static uint32_t load(const uint32_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void pass(uint32_t from, uint32_t to) {
    __atomic_compare_exchange_n(&turn, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void on_signal(int number) {
    int saved = errno;
    (void)number;
    if (load(&turn) == HANDLERS_TURN) {
        put_all(&shared, 3);
        pass(HANDLERS_TURN, THREADS_TURN);
    }
    errno = saved;
}

/* Is inside the connection's lock much of the time: closing a copy sends the coalesce buffer. */
static void *keep_busy(void *unused) {
    (void)unused;
    while (load(&turn) != OVER)
        close(dup(shared.ours));
    return NULL;
}

static void *write_in_turn(void *unused) {
    (void)unused;
    for (;;) {
        uint32_t now = load(&turn);
        if (now == OVER)
            return NULL;
        if (now != THREADS_TURN) {
            raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
            continue;
        }
        put_all(&shared, 2);
        __atomic_add_fetch(&rounds, 1, __ATOMIC_RELEASE);
        pass(THREADS_TURN, HANDLERS_TURN);
    }
}

/* The handler interrupts one thread in the middle of things; when it has returned, another thread
 * writes: its bytes come behind. */
static void handler_and_thread_in_turn(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    shared = pair_warm(0);
    sigaction(SIGUSR1, &action, NULL);
    void *busy = in_thread(keep_busy, NULL), *writer = in_thread(write_in_turn, NULL);
    uint64_t until = now_ms() + LONGEST_MS; /* on a busy machine until there were some */
    while ((now_ms() < until || load(&rounds) <= ENOUGH) && load(&rounds) < ROUNDS) {
        if (load(&turn) == HANDLERS_TURN)
            pthread_kill((pthread_t)(uintptr_t)busy, SIGUSR1);
        receive(&shared, shared.received + 100000, 0);
    }
    __atomic_store_n(&turn, OVER, __ATOMIC_SEQ_CST);
    joined(writer);
    joined(busy);
    arrives(&shared, (int)window_ms() + 500);
}

CASE("a handler and a thread write in turn", handler_and_thread_in_turn())
