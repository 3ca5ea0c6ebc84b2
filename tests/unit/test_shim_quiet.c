/* SPDX-License-Identifier: MIT
 *
 * A quiet connection: its writes and reads are counted without a decision, and any unusual event ends that.
 */
#include <errno.h>
#include <pthread.h>

#include "config.h"
#include "coalesce_buffer.h"
#include "hold.h"
#include "real.h"
#include "shim_parts.h"
#include "whole.h"
static ssize_t three_bytes(int fd, void *buffer, size_t bytes) {
    (void)fd, (void)buffer, (void)bytes;
    return 3;
}

static struct conn *quiet_one(void) {
    whole_start_in(MODE_AUTO);
    struct conn *c = whole_connected(5);
    real_read = (void *)(uintptr_t)three_bytes;
    hold_watch_thread_end();
    whole_write(5, "abc");
    whole_read(5, 3);
    ASSERT(c->quiet == QUIET);
    fake_log();
    return c;
}

static void exchanges_one(struct conn *c) {
    char buffer[100];
    EXPECT_INT("written", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT(c->quiet == QUIET_WROTE && self.turn == c && c->turn_owner == &self);
    EXPECT_INT("read", shim_read_quiet(5, buffer, sizeof(buffer), c), 3);
    EXPECT(c->quiet == QUIET && !self.turn && !c->turn_owner);
    EXPECT_INT("depth", self.depth, 0);
}

/* It stays so from exchange to exchange, counts them, and is pushed late at the second write of a message. */
Test(shim_quiet, a_quiet_connection) {
    struct conn *c = quiet_one();
    const struct conn_counts before = c->counts;
    for (int i = 0; i < 3; i++)
        exchanges_one(c);
    EXPECT_TEXT("plain", fake_log(), "WRITE(5,abc) WRITE(5,abc) WRITE(5,abc)");
    EXPECT_INT("writes", c->counts.writes - before.writes, 3);
    EXPECT_INT("messages", c->counts.messages - before.messages, 3);
    EXPECT_INT("turns", c->counts.turns - before.turns, 3);
    EXPECT_INT("reads", c->counts.reads - before.reads, 3);
    EXPECT_INT("bytes", c->counts.bytes - before.bytes, 9);
    EXPECT_INT("first", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT_INT("second", whole_write(5, "def"), 3);
    EXPECT(c->quiet == QUIET_NOT && c->policy.bursty);
    const char *log = fake_log();
    cr_expect(strstr(log, "nodelay"), "%s", log);
    shim_closing(5);
}

/* coalesce: so it is by habit, and the buffer's bytes keep their place behind the first write of the turn
 * that ends the habit. */
Test(shim_quiet, a_quiet_connection_in_coalesce) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_connected(5);
    real_read = (void *)(uintptr_t)three_bytes;
    hold_watch_thread_end();
    for (int i = 0; i < HABIT; i++) {
        EXPECT_INT("not yet", c->quiet, QUIET_NOT);
        whole_write(5, "abc");
        whole_read(5, 3);
    }
    ASSERT(c->quiet == QUIET);
    fake_log();
    fake.wire.used = 0;
    exchanges_one(c);
    EXPECT_TEXT("plain", fake_log(), "WRITE(5,abc)");
    EXPECT_INT("first", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT_INT("second", whole_write(5, "def"), 3);
    EXPECT_INT("waits", buffer_length(c), 3);
    whole_read(5, 3);
    EXPECT_TEXT("in order", fake_log(), "WRITE(5,abc) cookie(5) nodelay(5,1) send(5,def)");
    EXPECT(c->quiet == QUIET_NOT && c->policy.bursty);
    shim_closing(5);
}

/* ... and a message larger than is buffered is judged: it may fill the send buffer. */
Test(shim_quiet, a_long_message_on_a_quiet_connection_in_coalesce) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_connected(5);
    static char all[8192];
    for (int i = 0; i < HABIT; i++) {
        whole_write(5, "abc");
        whole_read(5, 3);
    }
    ASSERT(c->quiet == QUIET);
    c->policy.buffer_limit = sizeof(all) - 1;
    EXPECT_INT("written", shim_write_quiet(5, all, sizeof(all), 0), sizeof(all));
    EXPECT(c->policy.sndbuf_maybe_full && c->policy.large);
    shim_closing(5);
}

/* Two threads that write a message's pieces have no habit of one write: their pieces are joined. */
Test(shim_quiet, a_turn_that_another_thread_takes_over_is_no_single_one) {
    static struct thread other;
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_connected(5);
    for (int i = 0; i < 2 * HABIT; i++) {
        EXPECT_INT("first", whole_write(5, "abc"), 3);
        STORE(&c->turn_owner, &other);
        self.turn = NULL;
        EXPECT_INT("second", whole_write(5, "def"), 3);
        EXPECT_INT("joined", buffer_length(c), 6);
        whole_read(5, 3);
    }
    shim_closing(5);
}

/* Any other holder of the lock may change the connection: the next write is judged. */
Test(shim_quiet, another_taker_of_the_lock_ends_the_quiet) {
    struct conn *c = quiet_one();
    conn_lock(c);
    conn_unlock(c);
    EXPECT_INT("not quiet", c->quiet, QUIET_NOT);
    EXPECT_INT("written", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT_INT("still not", c->quiet, QUIET_NOT);
    whole_read(5, 3);
    EXPECT_INT("again", c->quiet, QUIET);
    EXPECT_INT("first", shim_write_quiet(5, "abc", 3, 0), 3);
    conn_lock(c);
    conn_unlock(c);
    char buffer[100];
    EXPECT_INT("read", shim_read_quiet(5, buffer, sizeof(buffer), c), 3);
    EXPECT(c->policy.message_bytes == 0 && !self.turn && !c->turn_owner && c->quiet == QUIET);
    config_switch(MODE_OFF, false);
    EXPECT_INT("written", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT(c->quiet == QUIET_NOT && c->policy.mode == MODE_OFF);
    shim_closing(5);
}

/* A write that fails is none; input that may go on ends the quiet. */
Test(shim_quiet, what_is_unusual_on_a_quiet_connection) {
    struct conn *c = quiet_one();
    const struct conn_counts before = c->counts;
    char page[4096];
    fake_real.answers[fake_real.count] = -EAGAIN;
    EXPECT_INT("fails", shim_write_quiet(5, "abc", 3, 0), -1);
    EXPECT_INT("errno", errno, EAGAIN);
    EXPECT_INT("writes", c->counts.writes, before.writes);
    EXPECT_INT("messages", c->counts.messages, before.messages);
    EXPECT_INT("bytes", c->policy.message_bytes, 0);
    EXPECT_INT("units", c->policy.units, 0);
    EXPECT_INT("not quiet", c->quiet, QUIET_NOT);
    whole_read(5, 3);
    EXPECT_INT("quiet", c->quiet, QUIET);
    EXPECT_INT("written", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT_INT("full", shim_read_quiet(5, page, 3, c), 3);
    EXPECT_INT("a small full read leaves nothing", c->quiet, QUIET);
    shim_closing(5);
}

static pthread_barrier_t first_written, read_returned;

/* An exchange, and a message of two writes, of which the first is made during another thread's read. */
static void *writes_two(void *unused) {
    hold_watch_thread_end();
    whole_write(5, "abc");
    whole_read(5, 3);
    EXPECT_INT("first", shim_write_quiet(5, "abc", 3, 0), 3);
    EXPECT_INT("quiet", self.turn->quiet, QUIET_WROTE);
    pthread_barrier_wait(&first_written);
    pthread_barrier_wait(&read_returned);
    EXPECT_INT("second", whole_write(5, "def"), 3);
    return unused;
}

static pthread_t writer;

static ssize_t three_bytes_late(int fd, void *buffer, size_t bytes) {
    EXPECT_INT("a writer", pthread_create(&writer, NULL, writes_two, NULL), 0);
    pthread_barrier_wait(&first_written);
    return three_bytes(fd, buffer, bytes);
}

/* A read that began before another thread's turn does not end it. */
Test(shim_quiet, a_quiet_turn_of_another_thread, .timeout = 10) {
    struct conn *c = quiet_one();
    char buffer[100];
    pthread_barrier_init(&first_written, NULL, 2);
    pthread_barrier_init(&read_returned, NULL, 2);
    for (int i = 0; i < 3; i++) /* turn 5 leaves without the lock */
        exchanges_one(c);
    EXPECT_INT("written", shim_write_quiet(5, "abc", 3, 0), 3);
    real_read = (void *)(uintptr_t)three_bytes_late;
    EXPECT_INT("read", shim_read_quiet(5, buffer, sizeof(buffer), c), 3);
    EXPECT_INT("its turn", c->policy.position, 1);
    pthread_barrier_wait(&read_returned);
    pthread_join(writer, NULL);
    shim_closing(5);
}
