/* SPDX-License-Identifier: MIT
 *
 * A number is closed, and given to another connection, by calls that no library sees.
 */
#include "directed.h"

/* Another connection, made by raw calls alone, under the number that is free. */
static struct pair pair_unseen(int number) {
    struct pair p = pair_make(UNSEEN);
    CHECK(p.ours == number, "the number %d was not reused: %d", number, p.ours);
    return p;
}

static void close_unseen(int fd) {
    raw(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Bytes written after the creation of the new socket go to it, although the end of the turn
 * is not seen either. */
static void written_after(void) {
    struct pair old = pair_warm(0);
    for (int round = 0; round < 4; round++) {
        close_unseen(old.ours);
        struct pair new = pair_unseen(old.ours);
        ends(&old, 500);
        for (int i = 0; i < 1 + round; i++)
            put_all(&new, 10);
        arrives(&new, (int)window_ms() + 400);
        for (int i = 0; i < 6; i++)
            exchange(&new);
        close_unseen(old.theirs);
        old = new;
    }
}

/* One of two numbers of a connection: the other one goes on. */
static void one_of_two(void) {
    for (int first = 0; first < 2; first++) {
        struct pair old = pair_warm(0);
        int copy = dup(old.ours), reborn = first ? old.ours : copy;
        CHECK(copy >= 0, "dup");
        old.ours = first ? copy : old.ours;
        exchange(&old);
        close_unseen(reborn);
        struct pair new = pair_unseen(reborn);
        for (int i = 0; i < 6; i++)
            exchange(&old);
        put_all(&old, 10);
        put_all(&new, 10);
        put_all(&new, 10);
        arrives(&old, (int)window_ms() + 400);
        arrives(&new, (int)window_ms() + 400);
        exchange(&old);
        exchange(&new);
        pair_ends(&old, 500);
        pair_ends(&new, 500);
    }
}

/* The turn of the old one ends, within the window, when the number is another's already: it gets
 * nothing, no error either, and goes on as its own. */
static void turn_ends_after(void) {
    for (int unix_socket = 0; unix_socket < 2; unix_socket++) {
        struct timespec moment = {.tv_nsec = 1000};
        struct pair old = pair_warm(0), new;
        int ends_of[2];
        put_all(&old, 10);
        close_unseen(old.ours);
        if (unix_socket) {
            CHECK(raw(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, (long)ends_of, 0, 0) == 0, "socketpair");
            new = (struct pair){.ours = ends_of[0], .theirs = ends_of[1]};
        } else {
            new = pair_make(UNSEEN);
        }
        CHECK(new.ours == old.ours, "the number %d was not reused: %d", old.ours, new.ours);
        raw_sleep(window_ms() / 4);
        nanosleep(&moment, NULL);
        put_all(&new, 10);
        arrives(&new, (int)window_ms() + 400);
        put_all(&new, 10);
        pair_ends(&new, 500);
        close_unseen(old.theirs);
    }
}

CASE("a turn ends when its number is reused", turn_ends_after())
CASE("written after an unseen creation", written_after())
CASE("one of two numbers is reused unseen", one_of_two())
