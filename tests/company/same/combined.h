/* SPDX-License-Identifier: MIT
 *
 * Shared by the files combined*.c.
 */
#ifndef SAME_COMBINED_H
#define SAME_COMBINED_H

#include "same.h"

#include <sys/wait.h>

static inline void wait_for(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) == -1 && errno == EINTR)
        ;
    say("the child ended with %x", (unsigned)status);
}

/* By a raw call, which the library does not see: it ends no turn. */
static inline void wait_unseen(pid_t child) {
    int status = -1;
    raw4(SYS_wait4, child, &status, 0, 0);
    say("the child ended with %x", (unsigned)status);
}

static inline void peer_answers(const char *text) {
    raw3(SYS_write, peer, text, strlen(text));
}

#endif
