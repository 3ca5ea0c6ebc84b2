/* SPDX-License-Identifier: MIT
 *
 * The situation `within` of every_name.c: the library is interrupted by a signal at its own instructions.
 */
#include "../harness/steps.h"

static int next_name;

/* Each name at several places, without jumps: a jump within the handler releases the lock (libunstall(7)). */
enum { TIMES = 4 };

static void make_next(void) {
    static int times;
    if (calls[next_name].how != JUMP) make(next_name);
    if (++times % TIMES == 0) next_name++;
}

#if defined(__x86_64__) || defined(__i386__)

/* First two exchanges are made step by step, to learn at which instructions of the library they pass; then a
 * breakpoint is put at one of them for each name, the next for the next. */
enum { BREAKPOINT = 0xcc };

static unsigned char *broken, whole;

static void on_trap(int number, siginfo_t *about, void *context) {
    (void)number, (void)about;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs, *at = &registers[PROGRAM_COUNTER];
    int saved = errno;
    if (broken && *at == (greg_t)(uintptr_t)broken + 1) {
        *at = (greg_t)(uintptr_t)broken;
        *broken = whole;
        broken = NULL;
    } else if (places_begin) {
        no_step_while_blocked(registers);
        learn((unsigned long)*at);
        return;
    }
    make_next();
    errno = saved;
}

static void set_breakpoint(unsigned long place) {
    broken = (unsigned char *)place;
    whole = *broken;
    *broken = BREAKPOINT;
}

/* Every byte comes, once and in order, whatever stood between. */
static void within(void) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    find_text();
    while (!places_begin && next_name < CALLS) raise(SIGTRAP); /* the bare program */
    if (!places_begin) return;
    int one = 1; /* out of sight: where nothing is cured no exchange shall take 40 ms */
    raw_call(SYS_setsockopt, near_end, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof one);
    step(true);
    exchange_once();
    exchange_once();
    step(false);
    CHECK(place_count > 0);
    CHECK(mprotect((void *)places_begin, places_end - places_begin, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    for (int i = 0; next_name < CALLS; i++) {
        if (!broken) set_breakpoint(places[i * 11 % place_count]);
        exchange_once();
        if (broken && i % 3 == 2) { /* no exchange of now passes there */
            *broken = whole;
            broken = NULL;
        }
    }
    for (int i = 0; i < 8; i++) exchange_once();
    fprintf(stderr, "%d places\n", place_count);
}

#else

static void within(void) {
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    while (next_name < CALLS) make_next();
}

#endif
