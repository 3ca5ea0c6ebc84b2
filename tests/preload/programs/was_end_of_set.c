/* SPDX-License-Identifier: MIT
 *
 * Exchanges, the half of a message, and then a wait for room in a full pipe by select(2), whose set is one
 * word of the kernel at the end of a page; the page behind it cannot be written.
 */
#include "client.h"
#include <sys/mman.h>
#include <sys/select.h>

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timeval moment = {.tv_usec = 1000};
    int full[2];
    CHECK(pages != MAP_FAILED && pipe2(full, O_NONBLOCK) == 0 && full[1] < 32);
    while (write(full[1], pages, page) > 0)
        ;
    CHECK(mprotect(pages + page, page, PROT_READ) == 0);
    int fd = connect_to(client);
    exchange_all(fd, 0, client.count);
    next_message(client.count);
    CHECK(write(fd, message, HEADER) == HEADER);
    long *set = (long *)(void *)(pages + page) - 1;
    *set = 1L << full[1];
    CHECK(select(full[1] + 1, NULL, (fd_set *)(void *)set, NULL, &moment) == 0 && *set == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
    return report();
}
