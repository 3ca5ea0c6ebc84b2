/* SPDX-License-Identifier: MIT
 *
 * Without the time-stamp counter, so that the clock is a system call: exchanges without a sign of the stall.
 * ADDRESS PORT ROOM: the read's buffer; an answer has 200 bytes.  Says on what processor this cannot be had.
 */
#include "client.h"

int main(int argc, char **argv) {
    enum { EXCHANGES = 2000 };
    static char bytes[4096];
    client_t client = client_arguments(argc, argv);
    struct pollfd wait = {.events = POLLIN};
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0) return puts("no such processor") < 0;
    wait.fd = connect_to(client);
    for (int i = 0; i < EXCHANGES; i++) {
        CHECK(write(wait.fd, bytes, 300) == 300);
        CHECK(i % 2 || poll(&wait, 1, -1) == 1);
        CHECK(read(wait.fd, bytes, (size_t)client.count) == 200);
    }
    puts(library_is_loaded() ? "loaded" : "bare");
    return 0;
}
