/* SPDX-License-Identifier: MIT
 *
 * Plays a script of an application's calls on one connection against policy.c and logs the answers of policy,
 * so that a test is a row: script and answer. The player acts as the shim would: opens and ends turns,
 * answers the question for the MSS, sets TCP_NODELAY, holds and buffers.
 *
 * Script, words with one space between:
 *   200   a write of 200 bytes          200m  ... with MSG_MORE
 *   200s  ... that is special           200e  ... that fails with EAGAIN
 *   r     wait, then read all there is  R     wait, then fill the reader's buffer
 *   i     input, read by another thread
 *   w     a wait                        q     a wait that returned at once
 *   x     the window ends               c, u  the application's TCP_CORK on, off
 *   a     asked first: at once          b     asked first: nothing, so the real wait
 *   ?     would the next wait be asked first?
 *
 * Answer, a word for each of the script's:
 *   plain, more, buffer   how the write leaves; before it mss+ (asked), opts+ (the application's
 *                         options asked), push+ (TCP_NODELAY=1), back+ (the application's own
 *                         value); after it, and after ], ! (suspected)
 *   . , | ~ [ ] /         r and R; i; w, q and b; x; c; u; a; before it push (held bytes let go),
 *                         send or push+send (buffered bytes let go)
 *   yes, no               to ?
 */
#ifndef UNSTALL_PLAYER_H
#define UNSTALL_PLAYER_H

#include "policy_inline.h"
#include "log.h"

struct player {
    struct policy policy;
    struct policy_limits limits;
    uint32_t mss; /* the kernel's answer, as are the next two */
    bool found_nodelay, found_cork;
    bool held;
    size_t buffered;
    bool turn;  /* one is open */
    bool quick; /* the last one ended at a wait that returned at once */
    struct text trace;
    char buffer[4096];
};

/* An established connection, nothing known of it, SMALL 4096, MSS 1460. */
void player_start(struct player *player, enum mode mode);

/* Returns the answer, good until the next call. */
const char *play(struct player *player, const char *script);

/* ... `times` in a row; the answer to the last one. */
const char *play_again(struct player *player, int times, const char *script);

#endif
