/* SPDX-License-Identifier: MIT */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum outcome { OVER, ALONE };

enum { CALL_ROOM = 4096 }; /* a later kernel's struct seccomp_notif may be larger than ours */

/* Shared by guard and worker.  Its id is 0 when no call is being treated. */
static struct seccomp_notif *call;

static void answer(int listener, uint64_t id, bool go_on) {
    char room[CALL_ROOM] = {0};
    struct seccomp_notif_resp *response = (struct seccomp_notif_resp *)room;
    response->id = id;
    response->flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response); /* ENOENT: the task was killed meanwhile */
}

/* Takes one call and answers it. */
static void take(int listener, bool passes) {
    memset(call, 0, CALL_ROOM);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call) != 0)
        return;
    enum notice_answer result = passes ? NOTICE_GO_ON : notice_treat(listener, call);
    if (result != NOTICE_ANSWERED)
        answer(listener, call->id, result == NOTICE_GO_ON);
    call->id = 0;
}

/* Answers calls until the last process with the filter has ended, or the guard has. */
static enum outcome work(int listener, int guard, bool passes) {
    struct pollfd both[] = {{listener, POLLIN, 0}, {guard, POLLIN, 0}};
    for (;;) {
        if (poll(both, 2, -1) < 0 && errno != EINTR)
            return OVER;
        if (both[0].revents & POLLIN)
            take(listener, passes);
        else if (both[0].revents)
            return OVER;
        if (both[1].revents)
            return ALONE;
    }
}

/* Waits for the worker.  True if it has ended by itself: there is nothing left to do. */
static bool wait_for(pid_t worker) {
    int status = 0;
    while (waitpid(worker, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int worker_guard(int listener) {
    call = mmap(NULL, CALL_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (call == MAP_FAILED)
        return -errno;
    for (int started = 0; started < WORKERS_MOST; started++) {
        int guard = (int)syscall(SYS_pidfd_open, getpid(), 0);
        pid_t worker = fork();
        if (worker < 0) { /* a limit on processes: this process works without a guard */
            work(listener, -1, false);
            return 0;
        }
        if (worker == 0) {
            if (work(listener, guard, false) == OVER)
                _exit(0);
            close(guard); /* from here on this process is the guard */
            continue;
        }
        close(guard);
        if (wait_for(worker))
            return 0;
        if (call->id)
            answer(listener, call->id, true);
    }
    work(listener, -1, true);
    return 0;
}
