/* SPDX-License-Identifier: MIT
 *
 * Enters a namespace, which the kernel allows to a process with one thread, in the middle of a message.
 */
#include "confined.h"

static void note(int result) {
    confined_errno = result == 0 ? 0 : errno;
}

static void by_unshare(void) {
    note(unshare(CLONE_NEWUSER));
}

static void by_syscall(void) {
    note((int)syscall(SYS_unshare, CLONE_NEWUSER));
}

/* A thread of our own: EINVAL, bare and otherwise. */
static void *sleeper(void *unused) {
    sleep(20);
    return unused;
}

static void with_two_threads(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sleeper, NULL) == 0);
    note(unshare(CLONE_NEWUSER));
}

static void by_setns(void) {
    int fd = open("/proc/self/ns/mnt", O_RDONLY);
    CHECK(fd >= 0);
    note(setns(fd, CLONE_NEWNS));
    close(fd);
}

static void after_fork(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    confined_errno = WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    static const struct confinement known[] = {
        {"unshare", by_unshare},   {"syscall", by_syscall},       {"two-threads", with_two_threads},
        {"setns", by_setns},       {"child", after_fork},
    };
    return confined_main(argc, argv, known, sizeof known / sizeof known[0]);
}
