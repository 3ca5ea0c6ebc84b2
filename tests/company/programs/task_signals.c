/* SPDX-License-Identifier: MIT
 *
 * Changes its rights as libpsx of libcap 2.72 and later does: by syscall(2) in the calling thread, then by a
 * signal in every other task of /proc/self/task.  It waits until each task has answered, in two looks in a
 * row.  Meanwhile another thread goes on with its exchanges of two small writes.
 *
 * Usage: PROGRAM ADDRESS PORT COUNT HOW.  HOW is the call that signals, by syscall(2) `tkill` or `tgkill`;
 * or, where a collector stops the world and no rights change, `queue` (rt_tgsigqueueinfo), `libc` (its
 * tgkill) or `unlisted` (tkill).  Prints how often it changed its rights, whether each task answered within
 * 5 s, the looks, and the exchanges.
 */
#include "client.h"
#include <dirent.h>

enum { CHANGES = 3, LIMIT_US = 5000000, BEFORE = 20, TASKS = 16 };

static client_t client;
static int fd, exchanges, done;
static pid_t answered[TASKS];

static const char *how;

static int change(void) {
    if (strcmp(how, "tkill") != 0 && strcmp(how, "tgkill") != 0) return syscall(SYS_getppid) > 0 ? 0 : -1;
    return (int)syscall(SYS_prctl, PR_SET_KEEPCAPS, 0, 0, 0, 0);
}

static void answer(int number) {
    (void)number;
    int saved = errno;
    change();
    pid_t none = 0, mine = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    for (int i = 0; i < TASKS; i++, none = 0)
        if (__atomic_compare_exchange_n(&answered[i], &none, mine, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            break;
    errno = saved;
}

static void tell(pid_t task) {
    siginfo_t info = {.si_code = SI_QUEUE};
    if (strcmp(how, "libc") == 0)
        tgkill(getpid(), task, SIGUSR1);
    else if (strcmp(how, "tgkill") == 0)
        syscall(SYS_tgkill, getpid(), task, SIGUSR1);
    else if (strcmp(how, "queue") == 0)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), task, SIGUSR1, &info);
    else
        syscall(SYS_tkill, task, SIGUSR1);
}

static bool has_answered(pid_t task) {
    for (int i = 0; i < TASKS; i++)
        if (__atomic_load_n(&answered[i], __ATOMIC_SEQ_CST) == task) return true;
    return false;
}

static void *exchange_on(void *unused) {
    for (; !__atomic_load_n(&done, __ATOMIC_SEQ_CST); __atomic_add_fetch(&exchanges, 1, __ATOMIC_SEQ_CST)) {
        next_message(exchanges);
        CHECK(write(fd, message, HEADER) == HEADER && write(fd, message + HEADER, BODY) == BODY);
        read_reply(fd);
    }
    return unused;
}

/* Signals each task that is new, and says how many have not answered. */
static int look(pid_t *told) {
    int silent = 0;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        pid_t task = atoi(entry->d_name);
        int at = 0;
        if (task <= 0 || task == getpid()) continue;
        while (at < TASKS - 1 && told[at] && told[at] != task) at++;
        if (told[at] != task) {
            told[at] = task;
            tell(task);
        }
        silent += !has_answered(task);
    }
    closedir(folder);
    return silent;
}

/* False: a task has not answered for LIMIT_US. */
static bool change_everywhere(int *looks) {
    pid_t told[TASKS] = {0};
    memset(answered, 0, sizeof answered);
    CHECK(change() == 0);
    long begin = now_us();
    for (int whole = 0; whole < 2; ++*looks) {
        whole = look(told) ? 0 : whole + 1;
        if (now_us() - begin > LIMIT_US) return false;
        sched_yield();
    }
    return true;
}

int main(int argc, char **argv) {
    CHECK(argc == 5);
    client = client_arguments(argc, argv);
    how = argv[4];
    struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t worker;
    fd = connect_to(client);
    CHECK(pthread_create(&worker, NULL, exchange_on, NULL) == 0);
    bool all = true;
    int changes = 0, looks = 0;
    for (; all && changes < CHANGES; changes++) {
        int begun = __atomic_load_n(&exchanges, __ATOMIC_SEQ_CST);
        while (__atomic_load_n(&exchanges, __ATOMIC_SEQ_CST) < begun + BEFORE) usleep(1000);
        all = change_everywhere(&looks);
    }
    __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
    CHECK(pthread_join(worker, NULL) == 0);
    printf("{\"loaded\": %s, \"all\": %s, \"changes\": %d, \"looks\": %d, \"exchanges\": %d}\n",
           library_is_loaded() ? "true" : "false", all ? "true" : "false", changes, looks, exchanges);
    return 0;
}
