/* SPDX-License-Identifier: MIT
 *
 * Four times: a habit of two pieces and a read, COUNT times; then one such message with a pause of 12 ms
 * between its pieces.  In the pause other processes have the processor ("preempted"), or the program computes
 * ("computes"), or waits by sched_yield(2) ("yields").  For each of the four: the data segments of the last
 * message of the habit, and whether others took the processor once or twice in the pause behind it, while the
 * program neither waited nor computed for 5 ms.
 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "client.h"

enum { TIMES = 4, OTHERS = 10, PAUSE_US = 12000 };

static volatile bool *busy; /* shared with the other processes */

static void other_process(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        if (!*busy) usleep(1000);
    _exit(0);
}

/* All on one processor. */
static void start_others(void)
{
    cpu_set_t all, one;
    pid_t parent = getpid();
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    for (int i = 0; i < OTHERS; i++)
        if (fork() == 0) other_process(parent);
}

static long computed_us(struct rusage *used)
{
    CHECK(getrusage(RUSAGE_THREAD, used) == 0);
    return (used->ru_utime.tv_sec + used->ru_stime.tv_sec) * 1000000L + used->ru_utime.tv_usec +
           used->ru_stime.tv_usec;
}

/* True: others took the processor. */
static bool pause_between(bool preempted, bool yields)
{
    struct rusage before, after;
    long computed = computed_us(&before), began = now_us();
    *busy = preempted;
    while (now_us() - began < PAUSE_US)
        if (yields) sched_yield();
    *busy = false;
    computed = computed_us(&after) - computed;
    long lost = after.ru_nivcsw - before.ru_nivcsw;
    return after.ru_nvcsw == before.ru_nvcsw && computed < 5000 && lost >= 1 && lost <= 2;
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    bool preempted = argc > 5 && strcmp(argv[5], "preempted") == 0;
    bool yields = argc > 5 && strcmp(argv[5], "yields") == 0;
    char segments[100] = "", lost[100] = "";
    busy = mmap(NULL, sizeof *busy, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(busy != MAP_FAILED);
    start_others();
    int fd = connect_to(client);
    for (int i = 0; i < TIMES; i++) {
        run_exchanges(fd, client.count, two_writes);
        unsigned before = data_segments(fd);
        two_writes(fd);
        sprintf(segments + strlen(segments), "%s%u", i ? ", " : "", data_segments(fd) - before);
        next_message(0);
        CHECK(write(fd, message, HEADER) == HEADER);
        bool taken = pause_between(preempted, yields);
        sprintf(lost + strlen(lost), "%s%s", i ? ", " : "", taken ? "true" : "false");
        CHECK(write(fd, message + HEADER, BODY) == BODY);
        read_reply(fd);
        usleep(2000); /* the others see it */
    }
    ADD_FACT("\"segments\": [%s], \"preempted\": [%s]", segments, lost);
    return report();
}
