/* SPDX-License-Identifier: MIT
 *
 * The program sets TCP_NODELAY while another thread keeps trying to run a program that is not there. The fact
 * `lost`: how often the kernel kept 0 after the program's 1.
 */
#include "client.h"

static bool over;

static void *fail_to_run(void *unused)
{
    char *words[] = {NULL};
    (void)unused;
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) execv("/there/is/no/such/program", words);
    return NULL;
}

/* Where the other thread has no processor for so long that nobody waits for it any more, what was set in the
 * midst of its walk is made up for when it goes on. */
static bool comes_back(int fd)
{
    for (long begin = now_us(); now_us() - begin < 5000000; sched_yield())
        if (raw_option(fd, IPPROTO_TCP, TCP_NODELAY) != 0) return true;
    return false;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), lost = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fail_to_run, NULL) == 0);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        set_option(fd, TCP_NODELAY, 0);
        write_message(fd);
        set_option(fd, TCP_NODELAY, 1);
        lost += !comes_back(fd);
        read_reply(fd);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    ADD_FACT("\"lost\": %d", lost);
    return report();
}
