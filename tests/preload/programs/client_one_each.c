/* SPDX-License-Identifier: MIT
 *
 * Header, body and reply, each time on a connection of its own.  The fact `segments`: the most data
 * segments that a connection after the first has sent.
 */
#include "client.h"

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    unsigned most = 0;
    for (int i = 0; i < client.count; i++) {
        int fd = connect_to(client);
        two_writes(fd);
        unsigned sent = data_segments(fd);
        if (i > 0 && sent > most) most = sent;
        close(fd);
    }
    ADD_FACT("\"segments\": %u", most);
    return report();
}
