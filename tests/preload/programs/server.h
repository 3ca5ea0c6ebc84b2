/* SPDX-License-Identifier: MIT
 *
 * A server that answers each request of REQUEST bytes in two writes, header
 * and body.  It prints its port, serves one connection with SERVE(listener),
 * which the including file defines, and ends.  `inherited NUMBER`: it serves that descriptor.
 */
#include "client.h"

enum { REQUEST = 50 };

static UNUSED void answer_all(int fd) {
    char request[REQUEST];
    for (int i = 0; recv(fd, request, sizeof request, MSG_WAITALL) == REQUEST; i++) {
        next_message(i);
        mark(i);
        write_message(fd);
    }
    close(fd);
}

static void SERVE(int listener);

static UNUSED const char *how; /* the first argument, or "" */

int main(int count, char **words) {
    how = count > 1 ? words[1] : "";
    if (count > 2) {
        answer_all(atoi(words[2]));
        return 0;
    }
    struct sockaddr_in here;
    int listener = listen_here(&here);
    printf("%d %s\n", ntohs(here.sin_port), library_is_loaded() ? "loaded" : "bare");
    fflush(stdout);
    SERVE(listener);
    close(listener);
    return 0;
}
