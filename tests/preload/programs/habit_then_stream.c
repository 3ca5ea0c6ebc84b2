/* SPDX-License-Identifier: MIT
 *
 * A habit that becomes a stream: two pieces and a read, COUNT times; one piece and half a second of
 * computing; then fifty single writes.  While the kernel may keep a piece, the program makes no call that the
 * library sees; with "turns" it makes one before each single write.  The time that the kernel kept each
 * piece, in ms.
 */
#include "client.h"

enum { EVENTS = 50, EVENT = 4, COMPUTES_MS = 500, LONGEST_MS = 400 };

static long kept_ms_sleeping(int fd)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    long begin = now_us();
    do raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0);
    while (info_of(fd).tcpi_notsent_bytes && now_us() - begin < LONGEST_MS * 1000L);
    return (now_us() - begin) / 1000;
}

int main(int argc, char **argv)
{
    char kept[400];
    client_t client = client_arguments(argc, argv);
    bool turns = argc > 5 && strcmp(argv[5], "turns") == 0;
    int fd = connect_to(client);
    run_exchanges(fd, client.count, two_writes);
    unsigned before = data_segments(fd);
    two_writes(fd);
    bool held = data_segments(fd) - before == 1;
    next_message(0);
    CHECK(write(fd, message, BODY) == BODY);
    int length = sprintf(kept, "%ld", kept_ms(fd, COMPUTES_MS));
    for (int i = 0; i < EVENTS; i++) {
        if (turns) poll(NULL, 0, 1);
        CHECK(write(fd, message + BODY + i * EVENT, EVENT) == EVENT);
        length += sprintf(kept + length, ", %ld", kept_ms_sleeping(fd));
    }
    read_reply(fd); /* the piece and the writes are a message of the peer's */
    ADD_FACT("\"kept_ms\": [%s], \"held\": %s", kept, held ? "true" : "false");
    return report();
}
