/* SPDX-License-Identifier: MIT
 *
 * Single steps of this thread, each of which ends in SIGTRAP, and the places of the library that they pass.
 */
#pragma once

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#if defined(__x86_64__) || defined(__i386__)

#ifdef __x86_64__
#define PROGRAM_COUNTER REG_RIP
#define CALL_NUMBER     REG_RAX
#define SAVE_FLAGS      "subq $128, %%rsp; pushfq; " /* behind the red zone */
#define CHANGE_FLAGS(how) how "q %0, (%%rsp); popfq; addq $128, %%rsp"
#else
#define PROGRAM_COUNTER REG_EIP
#define CALL_NUMBER     REG_EAX
#define SAVE_FLAGS      "pushfl; "
#define CHANGE_FLAGS(how) how "l %0, (%%esp); popfl"
#endif

enum { TRAP_FLAG = 0x100, PLACES = 16384 };

static unsigned long places_begin, places_end, places[PLACES];
static int place_count;

static bool find_text(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, " r-xp ") && strstr(line, "libunstall"))
            CHECK(sscanf(line, "%lx-%lx", &places_begin, &places_end) == 2);
    fclose(maps);
    return places_begin != 0;
}

static void learn(unsigned long place) {
    if (place < places_begin || place >= places_end || place_count == PLACES) return;
    for (int i = 0; i < place_count; i++)
        if (places[i] == place) return;
    places[place_count++] = place;
}

/* A step with the signal blocked would end the process: the library blocks all while it makes a thread. */
static void no_step_while_blocked(greg_t *registers) {
    const void *code = (const void *)registers[PROGRAM_COUNTER];
    if (registers[CALL_NUMBER] == SYS_rt_sigprocmask &&
        (memcmp(code, "\x0f\x05", 2) == 0 || memcmp(code, "\xcd\x80", 2) == 0))
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void step(bool on) {
    if (on)
        __asm__ volatile(SAVE_FLAGS CHANGE_FLAGS("or")::"i"(TRAP_FLAG) : "memory", "cc");
    else
        __asm__ volatile(SAVE_FLAGS CHANGE_FLAGS("and")::"i"(~TRAP_FLAG) : "memory", "cc");
}

#endif
