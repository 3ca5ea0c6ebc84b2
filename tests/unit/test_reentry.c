/* SPDX-License-Identifier: MIT
 *
 * A signal handler interrupts our own thread inside a lock, and what it leaves there.  These are moments of
 * one instruction, which tests/torture and tests/preload meet by chance alone.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "clock.h"
#include "coalesce_buffer.h"
#include "turn.h"
#include "reentry.h"
#include "readable.h"
#include "lock.h"
#include "shim.h"
#include "whole.h"

/* ---- a section that is left ------------------------------------------------- */

static struct conn shared;
static uint32_t short_lock, passed;

static void *passes(void *is_short) {
    ASSERT(is_short ? spin_lock(&short_lock) : conn_lock(&shared));
    passed++;
    is_short ? spin_unlock(&short_lock) : conn_unlock(&shared);
    return NULL;
}

static uint64_t ns_until_the_next_one(bool is_short, bool waits) {
    const struct timespec moment = {.tv_nsec = 20000000};
    uint32_t *lock = is_short ? &short_lock : &shared.lock, before = passed;
    pthread_t thread;
    ASSERT(is_short ? spin_lock(lock) : conn_lock(&shared));
    ASSERT(pthread_create(&thread, NULL, passes, is_short ? &shared : NULL) == 0);
    while ((LOAD(lock) & 3) != 2) /* bounded by the test's time */
        sched_yield();
    nanosleep(&moment, NULL);
    if (waits)
        STORE(lock, lock_free_now); /* unlocked, and the wake-up was for us */
    uint64_t begun = clock_now();
    reentry_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, before + 1);
    return clock_now() - begun;
}

/* Its lock is free.  Of two that wait one is woken; if it is that one which its handler takes away, it wakes
 * the next one, which would sleep for a tenth of a second. */
Test(reentry, a_waiter_goes_on_behind_a_section_that_is_left, .timeout = 20) {
    clock_start();
    for (int i = 0; i < 4; i++) {
        uint64_t least = UINT64_MAX;
        for (int tries = 0; tries < 10 && least > 10000000; tries++) {
            uint64_t ns = ns_until_the_next_one(i & 1, i & 2);
            least = ns < least ? ns : least;
        }
        cr_expect(least <= 10000000, "%d: at once, not after %d us", i, (int)(least / 1000));
    }
}

/* ---- a handler's write -------------------------------------------------------- */

static ssize_t write_in_a_handler(int fd, const char *bytes) {
    uint32_t before = self.depth;
    self.depth = before + 1; /* as if inside a section of ours */
    in_handler();
    ssize_t sent = whole_write(fd, bytes);
    self.depth = before;
    return sent;
}

/* Written before the close of its number, it leaves by the other one. */
Test(reentry, a_piece_whose_number_is_closed_leaves) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    ASSERT(conn_lock(c));
    in_handler();
    fds_share(c, 6);
    EXPECT_INT("taken", write_in_a_handler(5, "abc"), 3);
    EXPECT_INT("taken", write_in_a_handler(6, "def"), 3);
    fds_unlink(c, 5);
    conn_unlock(c);
    EXPECT_TEXT("both", fake.wire_buffer, "abcdef");
}

/* Another thread closes the connection, and a new one gets its number and its place. */
Test(reentry, a_piece_whose_connection_is_closed_is_dropped) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    struct piece *piece = reentry_piece(c->generation, 3);
    memcpy(piece->data, "abc", piece->bytes = 3);
    shim_closing(5);
    ASSERT(whole_warm(5) == c);
    reentry_keep_aside(c, piece);
    EXPECT_TEXT("nothing for the new one", fake.wire_buffer, "");
    EXPECT(!c->aside && !buffer_length(c));
}

/* All bytes of a blocking write were taken, however many, and those of a handler that had interrupted its own
 * blocking send, too. */
Test(reentry, a_large_write_is_cut_short) {
    enum { LARGE = 4 << 20 };
    char *bytes = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct write_request o = {.fd = 5, .form = FORM_WRITE, .buffer = bytes, .bytes = LARGE};
    for (int of_a_handler = 0; of_a_handler < 2; of_a_handler++) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        STORE(&c->lock, (lock_my_word() + 4) | 1);
        if (of_a_handler)
            reentry_drains(c);
        self.wait_debt = UINT64_MAX; /* it has waited for the lock */
        EXPECT_INT("taken", aside_write(&o), of_a_handler ? PIECE_MOST : 16 * PIECE_MOST);
        reentry_drains(NULL);
        reentry_forget(c);
        STORE(&c->lock, lock_free_now);
    }
}

/* Behind a piece that finds no memory nothing leaves: the stream would have a hole.  Two GiB were 0 bytes. */
Test(reentry, a_piece_without_memory_is_the_last) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    STORE(&c->lock, (lock_my_word() + 4) | 1);
    for (int i = 0; i < 3; i++) {
        struct piece *piece = reentry_piece(c->generation, 3);
        memcpy(piece->data, &"abcdefghi"[3 * i], 3);
        piece->bytes = i == 1 ? UINT32_C(1) << 31 : 3;
        reentry_keep_aside(c, piece);
    }
    STORE(&c->lock, lock_free_now);
    uint64_t before = c->counts.bytes;
    ASSERT(conn_lock(c));
    conn_unlock(c);
    EXPECT_TEXT("sent", fake.wire_buffer, "abc");
    EXPECT_INT("counted", c->counts.bytes - before, 3);
    EXPECT_INT("told", c->pending_error, ENOBUFS);
}

/* Another thread holds the lock.  We see that, it looks at the list and unlocks, and only then our piece is
 * put on the list: no thread would look again.  The piece's bytes lie on a page that faults when they are
 * copied, at just that moment. */
static struct conn *theirs;
static char *page;
enum { PAGE = 4096 };

static void let_go(int signal) {
    (void)signal;
    mprotect(page, PAGE, PROT_READ);
    STORE(&theirs->lock, lock_free_now);
}

Test(reentry, a_lock_that_is_freed_before_the_piece_is_there) {
    whole_start_in(MODE_COALESCE);
    theirs = whole_warm(5);
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, "abc", 3);
    mprotect(page, PAGE, PROT_NONE);
    readable_known = (struct readable_known){.program_begin = (uintptr_t)page,
                                             .program_end = (uintptr_t)page + PAGE};
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = let_go}, NULL);
    STORE(&theirs->lock, (lock_my_word() + 4) | 1);
    self.depth = 1;
    in_handler();
    struct write_request o = {.fd = 5, .form = FORM_WRITE, .buffer = page, .bytes = 3};
    EXPECT_INT("taken", aside_write(&o), 3);
    self.depth = 0;
    EXPECT_TEXT("sent by us", fake.wire_buffer, "abc");
    EXPECT(theirs->aside == 0);
}

/* ---- a handler's close ---------------------------------------------------------- */

static struct conn *buffered(void) {
    whole_start_in(MODE_COALESCE);
    fake.peer_port = 80;
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake_log();
    return c;
}

/* Beneath the lock of a list the connection cannot be given back. */
Test(reentry, a_handlers_close_beneath_a_short_lock) {
    for (int full = 0; full < 2; full++) {
        struct conn *c = buffered();
        fake.sends[fake.send_count] = fake.sends[fake.send_count + 1] = full ? -EAGAIN : 0;
        buffer_make_spare(); /* the buffer that is free then would go to the pool's list */
        ASSERT(spin_lock(&short_lock));
        in_handler();
        shim_closing(5);
        EXPECT(self.spinning == &short_lock);
        spin_unlock(&short_lock);
        EXPECT_INT("kept open for the rest", c->lingering, full);
        EXPECT_TEXT("sent", fake.wire_buffer, full ? "" : "abc");
        EXPECT_INT("left", buffer_length(c), full ? 3 : 0);
        EXPECT_INT("the number", fds_word(5), FDS_UNKNOWN);
    }
}

/* The handler closes between the load of the descriptor and the system call. */
static struct conn *meets_its_close;
static const struct kernel_ops *real;

static void close_in_a_handler(int fd) {
    kernel = real;
    shim_closing(fd);
    EXPECT(meets_its_close->fd != fd);
}

static ssize_t closed_before_send(int fd, const struct msghdr *message, int flags) {
    (void)message, (void)flags;
    close_in_a_handler(fd);
    return -EBADF;
}

static int closed_before_cookie(int fd, uint64_t *cookie) {
    (void)cookie;
    close_in_a_handler(fd);
    return -EBADF;
}

Test(reentry, a_close_before_the_system_call) {
    enum { FLUSH, SEND, COOKIE };
    for (int at = FLUSH; at <= COOKIE; at++) {
        struct conn *c = meets_its_close = buffered();
        real = kernel;
        struct kernel_ops closing = *kernel;
        if (at == COOKIE)
            closing.cookie = closed_before_cookie, c->buffer->began--;
        else
            closing.send = closed_before_send;
        ASSERT(conn_lock(c));
        in_handler();
        kernel = &closing;
        if (at == SEND)
            EXPECT_INT("error", buffer_send(c, 5, NULL, 0, 0), -EBADF);
        else
            hold_push(c, PUSH_WAIT);
        kernel = real;
        conn_unlock(c);
        EXPECT_TEXT("sent", fake.wire_buffer, "abc");
        EXPECT_INT("error", c->pending_error, 0);
    }
}
