/* SPDX-License-Identifier: MIT
 *
 * A signal handler interrupts our own thread inside a lock, writes there, and does not
 * come back.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "coalesce_buffer.h"
#include "turn.h"
#include "reentry.h"
#include "readable.h"
#include "lock.h"
#include "window.h"
#include "shim.h"
#include "whole.h"

static struct conn shared;
static uint32_t short_lock, passed;

static void *pass(void *unused) {
    (void)unused;
    ASSERT(conn_lock(&shared));
    passed = 1;
    conn_unlock(&shared);
    return NULL;
}

static void *pass_fast(void *unused) {
    (void)unused;
    ASSERT(spin_lock(&short_lock));
    passed = 1;
    spin_unlock(&short_lock);
    return NULL;
}

static pthread_t waiter_asleep(void *(*run)(void *), const uint32_t *lock) {
    const struct timespec moment = {.tv_nsec = 50000000};
    pthread_t thread;
    ASSERT(pthread_create(&thread, NULL, run, NULL) == 0);
    while ((LOAD(lock) & 3) != 2) /* bounded by the test's time */
        sched_yield();
    nanosleep(&moment, NULL);
    return thread;
}

Test(reentry, a_lock_that_is_left_is_free, .timeout = 10) {
    ASSERT(conn_lock(&shared));
    pthread_t thread = waiter_asleep(pass, &shared.lock);
    reentry_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, 1);
}

/* Of two that wait one is woken, and it is that one which its handler takes away. */
Test(reentry, a_waiter_that_leaves_wakes_the_next, .timeout = 10) {
    ASSERT(conn_lock(&shared));
    pthread_t thread = waiter_asleep(pass, &shared.lock);
    STORE(&shared.lock, lock_free_word()); /* unlocked, and the wake-up was for us */
    reentry_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, 1);
}

Test(reentry, a_short_lock_that_is_left_is_free, .timeout = 10) {
    ASSERT(spin_lock(&short_lock));
    pthread_t thread = waiter_asleep(pass_fast, &short_lock);
    reentry_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, 1);
}

Test(reentry, a_waiter_that_leaves_a_short_lock_wakes_the_next, .timeout = 10) {
    ASSERT(spin_lock(&short_lock));
    pthread_t thread = waiter_asleep(pass_fast, &short_lock);
    STORE(&short_lock, lock_free_word());
    reentry_abandon();
    EXPECT_INT("depth", self.depth, 0);
    pthread_join(thread, NULL);
    EXPECT_INT("the next one came", passed, 1);
}

/* Two handlers deep, each beneath a lock: both are over, and the bytes sent under the lock count. */
Test(reentry, all_sections_are_left_at_once, .timeout = 10) {
    static uint32_t list;
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    ASSERT(conn_lock(c));
    in_handler();
    c->buffer->in_flight = true;
    ASSERT(spin_lock(&list));
    self.depth += 3;
    reentry_abandon();
    EXPECT(self.depth == 0 && !self.locked && !self.spinning);
    EXPECT_INT("the list", list & 3, 0);
    EXPECT_INT("the connection", c->lock & 3, 0);
    EXPECT(!c->buffer || !c->buffer->in_flight);
}

/* The code that runs in the child of a vfork, or outside of any section, leaves nothing. */
Test(reentry, where_nothing_is_left) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    reentry_abandon();
    EXPECT_INT("depth", self.depth, 0);
    ASSERT(conn_lock(c));
    in_handler();
    self.vforked = true;
    reentry_abandon();
    EXPECT(self.depth == 1 && self.locked == c && lock_is_mine(&c->lock));
    self.vforked = false;
    conn_unlock(c);
    self.draining = c;
    self.vforked = true;
    reentry_abandon();
    EXPECT(self.draining == c);
    self.vforked = false;
    self.depth = 1; /* the drain is another's, beneath which this section is */
    in_handler();
    reentry_abandon();
    EXPECT(self.depth == 0);
}

/* A blocking send that is left is over; where it has not begun, nothing is. */
Test(reentry, a_drain_that_is_left) {
    for (int draining = 0; draining < 2; draining++) {
        whole_start_in(MODE_COALESCE);
        struct conn *c = whole_warm(5);
        fake.tcp_info.bytes_sent = c->counts.bytes;
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        c->buffer->in_flight = c->buffer->exact = true;
        c->buffer->before = fake.tcp_info.bytes_sent;
        fake.tcp_info.bytes_sent += 2; /* of which the kernel has taken two bytes */
        c->draining = draining;
        self.draining = c;
        reentry_abandon();
        EXPECT(!self.draining && !c->draining && self.depth == 0);
        EXPECT_INT("left", buffer_length(c), draining ? 1 : 3);
        EXPECT(conn_trylock(c));
        conn_unlock(c);
        c->buffer->in_flight = false;
        shim_closing(5);
    }
}

/* ---- a handler's write ------------------------------------------------------ */

static ssize_t write_in_a_handler(int fd, const char *bytes) {
    uint32_t before = self.depth;
    self.depth = before + 1; /* as if inside a section of ours */
    in_handler();
    ssize_t sent = whole_write(fd, bytes);
    self.depth = before;
    return sent;
}

Test(reentry, what_was_kept_aside_leaves_with_the_lock) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    ASSERT(conn_lock(c));
    in_handler();
    EXPECT_INT("taken", write_in_a_handler(5, "abc"), 3);
    EXPECT_INT("taken", write_in_a_handler(5, "de"), 2);
    EXPECT_TEXT("not yet", fake_log(), "");
    conn_unlock(c);
    EXPECT_TEXT("now, in order", fake_log(), "send(5,abcde)");
    EXPECT_INT("depth", self.depth, 0);
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

/* Another thread holds the lock.  We see that, it looks at the list and unlocks, and only then our piece is
 * put on the list: no thread would look again.  The piece's bytes lie on a page that faults when they are
 * copied, at just that moment. */
static struct conn *theirs;
static char *page;
enum { PAGE = 4096 };

static void let_go(int signal) {
    (void)signal;
    mprotect(page, PAGE, PROT_READ);
    STORE(&theirs->lock, lock_free_word());
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
    EXPECT_INT("taken", reentry_write(&o), 3);
    self.depth = 0;
    EXPECT_TEXT("sent by us", fake.wire_buffer, "abc");
    EXPECT(theirs->aside == 0);
}

/* ---- left in the middle of a send -------------------------------------------- */

static sigjmp_buf away;

static ssize_t take_all_and_leave(int fd, const struct msghdr *message, int flags) {
    (void)fd, (void)flags;
    fake.tcp_info.bytes_sent += message->msg_iov[0].iov_len;
    siglongjmp(away, 1);
}

/* A handler jumps out of our sendmsg when the kernel has taken all of it. */
Test(reentry, what_the_kernel_has_taken_is_not_sent_again) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    fake.tcp_info.bytes_sent = c->counts.bytes;
    EXPECT_INT("buffered", whole_write(5, "abcdef"), 6);
    const struct kernel_ops *before = kernel;
    struct kernel_ops jumping = *kernel;
    jumping.send = take_all_and_leave;
    if (sigsetjmp(away, 1) == 0) {
        kernel = &jumping;
        hold_end_turn(PUSH_WAIT);
    }
    kernel = before;
    reentry_abandon(); /* as our longjmp does before it jumps */
    EXPECT_INT("depth", self.depth, 0);
    EXPECT(conn_trylock(c));
    hold_push(c, PUSH_WAIT);
    conn_unlock(c);
    EXPECT_INT("nothing is left", buffer_length(c), 0);
    EXPECT_TEXT("nor sent", fake.wire_buffer, "");
}

Test(reentry, a_handlers_write_of_nothing_passes) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    ASSERT(conn_lock(c));
    in_handler();
    EXPECT_INT("nothing", write_in_a_handler(5, ""), 0);
    EXPECT(c->aside == 0);
    conn_unlock(c);
    EXPECT_TEXT("log", fake_log(), "WRITE(5,)");
}

/* A signal that came during vfork is delivered before its mark is off: in the parent the write goes behind
 * buffered bytes, in the child it passes. */
Test(reentry, a_handler_as_vfork_returns) {
    for (int parent = 0; parent < 2; parent++) {
        whole_start_in(MODE_COALESCE);
        whole_warm(5);
        EXPECT_INT("buffered", whole_write(5, "abc"), 3);
        fake_log();
        window_process = parent ? getpid() : getpid() + 1;
        self.vforked = true;
        EXPECT_INT("taken", whole_write(5, "x"), 1);
        self.vforked = false;
        EXPECT_TEXT("log", fake_log(), parent ? "send(5,abcx)" : "WRITE(5,x)");
        shim_closing(5);
    }
}

/* sendfile(2): the file's own position stays, the caller's is behind the bytes read. */
Test(reentry, a_handlers_sendfile_with_an_offset) {
    int file = memfd_create("body", 0);
    off64_t offset = 2;
    ASSERT(file >= 0 && write(file, "abcdef", 6) == 6 && lseek(file, 1, SEEK_SET) == 1);
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    ASSERT(conn_lock(c));
    in_handler();
    EXPECT_INT("read", reentry_move(5, file, &offset, 3), 3);
    EXPECT_INT("at the end", reentry_move(5, file, &offset, 3), 1);
    EXPECT_INT("nothing left", reentry_move(5, file, &offset, 3), 0);
    conn_unlock(c);
    EXPECT_INT("offset", offset, 6);
    EXPECT_INT("position", lseek(file, 0, SEEK_CUR), 1);
    EXPECT_TEXT("sent", fake.wire_buffer, "cdef");
}

/* The file's own position is read from, and advanced. */
Test(reentry, a_handlers_sendfile_without_an_offset) {
    int file = memfd_create("body", 0);
    ASSERT(file >= 0 && write(file, "abcdef", 6) == 6 && lseek(file, 1, SEEK_SET) == 1);
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    ASSERT(conn_lock(c));
    in_handler();
    EXPECT_INT("read", reentry_move(5, file, NULL, 3), 3);
    conn_unlock(c);
    EXPECT_INT("position", lseek(file, 0, SEEK_CUR), 4);
    EXPECT_TEXT("sent", fake.wire_buffer, "bcd");
}

/* ---- a handler's close and shutdown --------------------------------------------- */

static struct conn *buffered(void) {
    whole_start_in(MODE_COALESCE);
    fake.peer_port = 80;
    struct conn *c = whole_warm(5);
    EXPECT_INT("buffered", whole_write(5, "abc"), 3);
    fake_log();
    return c;
}

/* Of the very connection that it has interrupted. */
Test(reentry, a_handlers_shutdown_is_behind_the_bytes) {
    for (int how = SHUT_WR; how <= SHUT_RDWR; how++) {
        struct conn *c = buffered();
        ASSERT(conn_lock(c));
        in_handler();
        EXPECT_INT("of the call", shim_shuts(5, how), how == SHUT_RDWR ? SHUT_RD : SHIM_SHUT_LATER);
        EXPECT_TEXT("not yet", strstr(fake_log(), "shut(") ? "shut" : "", "");
        conn_unlock(c);
        EXPECT_TEXT("in order", fake_log(), "send(5,abc) shut(5)");
        shim_closing(5);
    }
}

Test(reentry, a_handlers_shutdown_without_bytes) {
    for (int connected = 0; connected < 2; connected++) {
        struct conn *c = buffered();
        fake.peer_port = connected ? 80 : 0;
        ASSERT(conn_lock(c));
        in_handler();
        hold_push(c, PUSH_WAIT);
        EXPECT_INT("the kernel's answer, if it is not connected", shim_shuts(5, SHUT_WR),
                   connected ? SHIM_SHUT_LATER : SHUT_WR);
        fake_log();
        conn_unlock(c);
        EXPECT_TEXT("at the unlock", fake_log(), connected ? "shut(5)" : "");
        EXPECT(c->policy.refuses);
        shim_closing(5);
    }
}

/* The window's thread is about to send when the handler closes or shuts down. */
static void *unlock_soon(void *lock) {
    const struct timespec moment = {.tv_nsec = 20000000};
    nanosleep(&moment, NULL);
    STORE((uint32_t *)lock, lock_free_word());
    return NULL;
}

/* A thread that gets no processor for 0.1 s unlocks too late. */
Test(reentry, a_handler_waits_for_another_thread, .timeout = 60) {
    struct conn *c = buffered(), *outer, *locked = NULL;
    self.depth = 1;
    in_handler();
    for (int i = 0; i < 10 && !locked; i++) {
        pthread_t thread;
        STORE(&c->lock, (lock_my_word() + 4) | 1);
        ASSERT(pthread_create(&thread, NULL, unlock_soon, &c->lock) == 0);
        locked = reentry_lock(5, &outer);
        pthread_join(thread, NULL);
    }
    ASSERT(locked == c);
    conn_unlock(c);
    EXPECT_INT("depth", self.depth, 1);
    STORE(&c->lock, (lock_my_word() + 4) | 1); /* never freed */
    EXPECT(reentry_lock(5, &outer) == NULL);
    STORE(&c->lock, lock_free_word());
    self.depth = 0;
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
