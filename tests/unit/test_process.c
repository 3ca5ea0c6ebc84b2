/* SPDX-License-Identifier: MIT
 *
 * The life of a process: what a forked child goes on with, and what an exit waits for.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gather.h"
#include "hold.h"
#include "process.h"
#include "ticker.h"
#include "whole.h"

/* What one thread's exec refuses in the parent is no refusal in a child that another thread
 * has forked meanwhile. */
Test(process, a_child_of_a_process_in_exec_holds) {
    whole_start_in(MODE_CORK);
    whole_warm(5);
    process_is_replaced("/nowhere/to/be/found");
    ASSERT(hold_refused);
    process_forks();
    pid_t child = fork();
    if (child == 0) {
        process_forked(0);
        ticker_now = TICKER_RUNS;
        fake_log();
        bool holds = whole_write(5, "abc") == 3 && strcmp(fake_log(), "SEND_MORE(5,abc)") == 0;
        _exit(!hold_refused && holds ? 0 : 1);
    }
    int status;
    process_forked(child);
    EXPECT_INT("the child", waitpid(child, &status, 0), child);
    EXPECT_INT("it holds", status, 0);
    EXPECT(hold_refused);
    process_stays(-1);
    EXPECT(!hold_refused);
}

/* The peer drains its side a while after the exit has begun. */
Test(process, an_exit_waits_for_room) {
    enum { TRIES = 40 }; /* more than the end of a turn makes */
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT_INT("gathered", whole_write(5, "abc"), 3);
    fake.send_count = 0;
    for (int i = 0; i < TRIES; i++)
        fake.sends[i] = -EAGAIN;
    process_ends();
    EXPECT_INT("nothing is left", gather_length(c), 0);
    EXPECT_TEXT("it arrived", fake.wire_buffer, "abc");
    EXPECT_INT("and no try more", fake.send_count, TRIES + 1);
}
