/* SPDX-License-Identifier: MIT
 *
 * Interrupts the library by a signal at its own instructions: a run is made step by step, to learn where in
 * the library it passes; then runs are made up to one of these places.  Breakpoints are faster
 * (every_name_within.h), but a thread of the library's would meet them with all signals blocked.  Steps are
 * slow: of a run that calls places_phase() between its parts, only the part is stepped in which the place was
 * first met.
 */
#pragma once

#include "steps.h"

#if defined(__x86_64__) || defined(__i386__)

static unsigned long wanted_place; /* 0: all are learned */
static int phase_now, wanted_phase;
static short phase_of[PLACES + 1];
static void (*at_place)(void); /* runs in the handler */

static void on_trap(int number, siginfo_t *about, void *context) {
    (void)number, (void)about;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    unsigned long place = (unsigned long)registers[PROGRAM_COUNTER];
    no_step_while_blocked(registers);
    if (!wanted_place) {
        phase_of[place_count] = (short)phase_now; /* of a new one */
        learn(place);
    } else if (place == wanted_place) {
        int saved = errno;
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        at_place();
        errno = saved;
    }
}

static void places_phase(void) {
    phase_now++;
    if (wanted_place) step(phase_now == wanted_phase);
}

static void run_to(void (*run)(void), unsigned long place, int phase) {
    wanted_place = place;
    wanted_phase = phase;
    phase_now = 0;
    step(!place || phase == 0);
    run();
    step(false);
}

static void places_run(void (*run)(void), int place) {
    run_to(run, places[place], phase_of[place]);
}

/* False: there is no library, so that there are no places. */
static bool places_learn(void (*run)(void)) {
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    if (!find_text()) return false;
    sigaction(SIGTRAP, &action, NULL);
    run_to(run, 0, 0);
    return place_count > 0;
}

#else /* no place is known */

static unsigned long places_begin, places[1];
static int place_count;
static void (*at_place)(void);

static void places_phase(void) {}

static void places_run(void (*run)(void), int place) {
    (void)place;
    run();
}

static bool places_learn(void (*run)(void)) {
    return at_place && run && false;
}

#endif
