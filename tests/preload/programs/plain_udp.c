/* SPDX-License-Identifier: MIT
 *
 * Without the pattern: two datagrams and a read, over UDP.
 */
#include "client.h"

int main(void)
{
    mark(BEGIN);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int receiver = socket(AF_INET, SOCK_DGRAM, 0), sender = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(bind(receiver, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockname(receiver, (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(sender, (struct sockaddr *)&address, sizeof address) == 0);
    for (int i = 0; i < 8; i++) {
        char data[HEADER];
        CHECK(write(sender, message, HEADER) == HEADER);
        CHECK(send(sender, message + HEADER, BODY, 0) == BODY);
        CHECK(read(receiver, data, sizeof data) == HEADER);
        CHECK(recv(receiver, data, sizeof data, 0) == BODY);
    }
    close(sender);
    close(receiver);
    mark(END);
    return 0;
}
