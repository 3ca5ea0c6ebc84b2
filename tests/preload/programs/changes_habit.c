/* SPDX-License-Identifier: MIT
 *
 * A habit, and then other ones: two pieces and a read, COUNT times; then, on each of three connections
 * in turn, three pieces each of which is followed by computing, with no call that could wait, and the
 * habit again.  Each piece's lateness is the time that the kernel kept it, in ms.
 */
#include "client.h"

enum { CONNECTIONS = 3, PIECES = 3, COMPUTES_MS = 400 };

int main(int argc, char **argv)
{
    char kept[200] = "", held[100] = "";
    client_t client = client_arguments(argc, argv);
    for (int c = 0; c < CONNECTIONS; c++) {
        int fd = connect_to(client);
        run_exchanges(fd, client.count, two_writes);
        unsigned before = data_segments(fd);
        two_writes(fd);
        sprintf(held + strlen(held), "%s%s", c ? ", " : "",
                data_segments(fd) - before == 1 ? "true" : "false");
        for (int i = 0; i < PIECES; i++) {
            next_message(0);
            CHECK(write(fd, message, BODY) == BODY); /* three of them are a message of the peer's */
            sprintf(kept + strlen(kept), "%s%ld", c + i ? ", " : "", kept_ms(fd, COMPUTES_MS));
        }
        read_reply(fd);
        close(fd);
    }
    ADD_FACT("\"kept_ms\": [%s], \"held\": [%s]", kept, held);
    return report();
}
