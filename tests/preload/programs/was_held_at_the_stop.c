/* SPDX-License-Identifier: MIT
 *
 * One thread has the window's thread ended again and again (argv[5]: by unshare, or by a seccomp filter that
 * is refused), another writes a small piece and
 * waits for the reply in a way that the library does not see.  The fact `late`: how often it waited too long.
 */
#include "client.h"
#include <linux/seccomp.h>
#include <sys/prctl.h>

enum { LATE_US = 150000 }; /* the kernel sends forgotten bytes after 200 ms */

static int stop;
static bool by_filter;

static void *ends_windows(void *unused)
{
    for (unsigned n = 1; !__atomic_load_n(&stop, __ATOMIC_RELAXED); n = n * 1103515245 + 12345) {
        if (by_filter)
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
        else
            unshare(0);
        for (unsigned i = n >> 18; i > 0; i--) __asm__ volatile("");
    }
    return unused;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), late = 0;
    pthread_t thread;
    by_filter = strcmp(argv[5], "filter") == 0;
    write(fd, message, HEADER + BODY);
    read_reply(fd);
    CHECK(pthread_create(&thread, NULL, ends_windows, NULL) == 0);
    for (int i = 0; i < client.count; i++) {
        struct pollfd reply = {.fd = fd, .events = POLLIN};
        long begin = now_us();
        CHECK(write(fd, message, HEADER + BODY) == HEADER + BODY);
        CHECK(raw_call(SYS_poll, (long)&reply, 1, 2000, 0, 0) == 1);
        late += now_us() - begin > LATE_US;
        read_reply(fd);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    ADD_FACT("\"late\": %d", late);
    return report();
}
