/* SPDX-License-Identifier: MIT
 *
 * The well-written other end: reads each message whole and answers it with one
 * send.  Never under the library.
 *
 * Usage: peer     (prints its port, then serves one connection after another)
 */
#include "common.h"

static void serve(int fd) {
    static char in[2 * LARGEST], out[LARGEST];
    size_t have = 0;
    for (;;) {
        ssize_t got = recv(fd, in + have, sizeof(in) - have, 0);
        if (got <= 0)
            return;
        have += (size_t)got;
        unsigned length, answer;
        while (have >= HEAD && (read_head(in, &length, &answer), have >= length)) {
            if (length < HEAD || send(fd, out, answer, MSG_NOSIGNAL) != (ssize_t)answer)
                return;
            have -= length;
            memmove(in, in + length, have);
        }
    }
}

int main(void) {
    end_with_parent();
    int listener = listen_and_say(16);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            die("accept");
        set_option(fd, TCP_NODELAY, 1);
        serve(fd);
        close(fd);
    }
}
