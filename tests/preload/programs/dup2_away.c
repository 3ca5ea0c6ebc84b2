/* SPDX-License-Identifier: MIT
 *
 * The connection moves by dup2 to the number argv[4] (0: as high as the limit
 * allows) and its first number is closed: still one connection, still cured.
 */
#include "client.h"
#include <sys/resource.h>

static int highest(void)
{
    struct rlimit limit = {1048576, 1048576};
    /* Only root may raise the hard limit: the others go as far as they may. */
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
        limit.rlim_cur = limit.rlim_max;
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    return (int)limit.rlim_cur - 1;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int low = connect_to(client), top = highest();
    int wanted = argc > 5 && atoi(argv[5]) > 0 ? atoi(argv[5]) : top;
    int fd = wanted < top ? wanted : top;
    exchange_all(low, 0, 2);
    CHECK(dup2(low, fd) == fd);
    next_message(2);
    CHECK(write(low, message, HEADER) == HEADER);
    CHECK(close(low) == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    run_exchanges_from(3, fd, client.count - 3, two_writes);
    ADD_FACT("\"number\": %d", fd);
    close(fd);
    return report();
}
