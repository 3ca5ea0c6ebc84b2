/* SPDX-License-Identifier: MIT
 *
 * Directed cases: situations that chance might not meet, one function each.  A case
 * has a connection with both ends in its own hands: `ours` is used as any
 * program would, `theirs` by raw system calls that no library sees, so that the
 * same program is its own incorruptible peer.  Run with a long window, so bytes that leave early were pushed,
 * and bytes that leave late were forgotten.
 */
#ifndef TORTURE_DIRECTED_H
#define TORTURE_DIRECTED_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct pair {
    int ours, theirs;
    uint64_t put;      /* bytes that our calls accepted */
    uint64_t received; /* bytes that their end has read, and that were right */
};

enum { SMALL_BUFFERS = 1, UNSEEN = 2 /* ours, too, is made by raw calls */ };

struct test_case {
    const char *name;
    void (*run)(void);
};

extern const struct test_case *const __start_cases[], *const __stop_cases[];

/* A sentence, and the call that is its case. */
#define CASE(sentence, ...)              CASE_NUMBER(__COUNTER__, sentence, __VA_ARGS__)
#define CASE_NUMBER(number, ...)         CASE_NAMED(number, __VA_ARGS__)
#define CASE_NAMED(number, sentence, ...) \
    static void run_##number(void) { \
        __VA_ARGS__; \
    } \
    static const struct test_case case_##number = {sentence, run_##number}; \
    static const struct test_case *const ref_##number __attribute__((used, section("cases"))) = \
        &case_##number;

/* ---- judging --------------------------------------------------------- */

__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
#define CHECK(condition, ...) \
    do { \
        if (!(condition)) \
            fail(__VA_ARGS__); \
    } while (0)
/* A time, or bytes by a time.  harness/directed.py repeats a case that failed by this alone. */
#define CHECK_TIME(condition, format, ...) CHECK(condition, "LATE: " format, __VA_ARGS__)

bool mode_is(const char *mode); /* of UNSTALL_MODE; "bare" without the library */
unsigned window_ms(void);
/* By then what is held has come where a window bounds it: the kernel's own timer takes 200 ms. */
int within_window(void);

/* ---- pairs ----------------------------------------------------------- */

/* A connection of ours to a raw listener of our own. */
struct pair pair_make(int options);
/* ... and exchanges until every mode knows it. */
struct pair pair_warm(int options);
void exchange(struct pair *p);

/* The bytes that stream `ours` carries from `offset` on. */
const char *content(uint64_t offset);
/* One write of the next `bytes`; its result is counted and returned. */
ssize_t put(struct pair *p, size_t bytes);
/* ... and all must be accepted. */
void put_all(struct pair *p, size_t bytes);
/* Write until EAGAIN, `bytes` at a time; the socket must be non-blocking. */
void put_until_full(struct pair *p, size_t bytes);

/* ... and until window probes, too, find no more room: takes a second. */
void fill_for_good(struct pair *p);
/* ... and then an answer is read: the next write begins a message. */
void fill_amid_messages(struct pair *p);
enum { WIDE_BUFFER = 16 << 20 };
/* Sets SO_SNDBUF unseen, and returns the old value. */
int send_buffer(const struct pair *p, int bytes);
/* ... and, an answer having begun a new message, a little more.  There is room for it during the write and
 * none afterwards, so bytes that coalesce has buffered cannot leave. */
void overfill(struct pair *p);

/* Warm, small buffers, ours non-blocking: overfilled, perhaps after it was filled for good. */
struct pair pair_overfilled(bool for_good);

/* Their end reads and checks the bytes there; waits at most `ms` for `total` bytes in all. */
uint64_t receive(struct pair *p, uint64_t total, int ms);
/* All written bytes arrive within `ms`, or the case fails. */
void arrives(struct pair *p, int ms);
/* ... and then, however late, the end of the stream. */
void ends(struct pair *p, int ms);
/* Our end is closed, all arrives, as above, and then theirs is closed; or both at once. */
void pair_ends(struct pair *p, int ms);
void pair_close(struct pair *p);
/* Behind the counted bytes come those of a write that never returned, at most `most`, whose number no side
 * knows: reads all of them and counts them. */
void resynchronise(struct pair *p, size_t most);
void reply(struct pair *p, size_t bytes);

/* ---- raw calls ------------------------------------------------------- */

long raw(long number, long a, long b, long c, long d, long e, long f);
void raw_sleep(unsigned ms);
uint64_t now_ms(void);
/* Waits that no library sees. */
void word_wait(uint32_t *word, uint32_t value);
void word_set(uint32_t *word, uint32_t value);
/* Until all that was put lies at their end, unread; the case fails after ten seconds. */
void settles(const struct pair *p);
/* Until an error or the end of the stream has come to our end, or more; likewise. */
void is_told(const struct pair *p);
/* Until a reset has ended the connection; likewise. */
void is_over(const struct pair *p);

/* ---- threads that are blocked ---------------------------------------- */

int32_t own_task(void);
/* Until the thread sleeps in a system call; likewise.  It is the same call 20 ms later: a lock is shorter. */
void is_blocked(int32_t task);
/* The same; false if the thread ends instead. */
bool blocks(int32_t task);
/* A thread that waits for that, and sends it a signal. */
void *in_thread_once_blocked(int32_t task, int number);

void *in_thread(void *(*run)(void *), void *argument); /* pthread_t as pointer; joined by: */
void joined(void *thread);

#endif
