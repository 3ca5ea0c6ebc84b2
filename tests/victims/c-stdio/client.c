/* SPDX-License-Identifier: MIT
 *
 * client PORT EXCHANGES BODY: the classic of the textbooks, a FILE for each direction made from a dup; a
 * head and a body, each followed by fflush, then fgets.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **words) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)atoi(words[count - 3])),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        return 1;
    FILE *in = fdopen(fd, "r");
    FILE *out = fdopen(dup(fd), "w");
    char line[512];
    for (int number = atoi(words[count - 2]); number > 0; number--) {
        fprintf(out, "POST /order HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                strlen(words[count - 1]));
        fflush(out);
        fputs(words[count - 1], out);
        fflush(out);
        while (fgets(line, sizeof(line), in) && strncmp(line, "answer ", 7) != 0)
            ;
        fputs(line, stdout);
    }
    return 0;
}
