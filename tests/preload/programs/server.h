/* SPDX-License-Identifier: MIT
 *
 * A server that answers each request of REQUEST bytes in two writes, header
 * and body.  It prints its port, serves one connection with SERVE(listener),
 * which the including file defines, and ends.  `inherited NUMBER`: it serves that descriptor.
 */
#include "client.h"

enum { REQUEST = 50 };

static UNUSED void answer_all(int fd)
{
    char request[REQUEST];
    for (int i = 0; recv(fd, request, sizeof request, MSG_WAITALL) == REQUEST; i++) {
        next_message(i);
        mark(i);
        CHECK(write(fd, message, HEADER) == HEADER);
        CHECK(write(fd, message + HEADER, BODY) == BODY);
    }
    close(fd);
}

static void SERVE(int listener);

static UNUSED const char *how; /* the first argument, or "" */

int main(int count, char **words)
{
    how = count > 1 ? words[1] : "";
    if (count > 2) {
        answer_all(atoi(words[2]));
        return 0;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    printf("%d %s\n", ntohs(address.sin_port), library_is_loaded() ? "loaded" : "bare");
    fflush(stdout);
    SERVE(listener);
    close(listener);
    return 0;
}
