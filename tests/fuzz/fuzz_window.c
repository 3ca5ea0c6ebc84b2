/* SPDX-License-Identifier: MIT */
#include "fuzz_window.h"

#include <assert.h>

#include "turn.h"
#include "coalesce_buffer.h"
#include "fds.h"
#include "window.h"

enum { WATCHED = 64 };

static struct conn *watched[WATCHED];
static unsigned count;

int window_now = WINDOW_RUNS;
int window_process;
window_tick window_ticks = 1;

void window_decide(bool buffers, unsigned position) {
    (void)buffers;
    (void)position;
}

bool window_stop(void) {
    return false;
}

void window_forked(void) {
}

void window_threads_seen(void) {
}

void window_task_exits(void) {
}

void window_thread_ends(void) {
}

bool window_any_has_bytes(void) {
    bool left = false;
    FDS_EACH(c)
        left |= buffer_length(c) > 0 || c->lingering;
    return left;
}

void window_goes_on(void) { /* the window was never stopped */
}

unsigned window_tasks(void) {
    return 1;
}

uint32_t window_bar(bool rights) {
    (void)rights;
    return 0;
}

void window_unbar(uint32_t barred) {
    (void)barred;
}

bool window_is_task(long task) {
    (void)task;
    return false;
}

void conn_waits(struct conn *c) {
    window_watch(c);
}

bool window_watch_without(struct conn *c) {
    return c->buffer == NULL;
}

bool window_watch_slow(struct conn *c) {
    assert(count < WATCHED);
    c->ticking = true;
    watched[count++] = c;
    return true;
}

static void look(struct conn *c) {
    assert(conn_lock(c));
    if (c->refs > 0 && (c->held || buffer_length(c) > 0))
        hold_window_ends(c);
    if (c->lingering && buffer_length(c) == 0) {
        close_linger_ends(c);
        return;
    }
    conn_unlock(c);
}

void window_ends(void) {
    for (unsigned i = 0; i < count; i++)
        look(watched[i]);
}

void window_forget(void) {
    while (count > 0)
        watched[--count]->ticking = false;
}
