/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock_ns.h"

extern char **environ;

enum { SAID_MOST = 4 << 20 };

/* Until its end, or for so long: then *late. */
static char *read_all(int fd, int seconds, bool *late) {
    struct pollfd input = {.fd = fd, .events = POLLIN};
    uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)seconds * 1000000000;
    size_t used = 0, size = 0;
    char *text = NULL;
    for (;;) {
        if (size - used < 4096 && size < SAID_MOST) {
            char *more = realloc(text, size + 65536);
            if (!more)
                break;
            text = more;
            size += 65536;
        }
        if (size - used < 2)
            break;
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        int ready = now < end ? poll(&input, 1, (int)((end - now + 999999) / 1000000)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        *late = ready == 0;
        if (*late)
            break;
        ssize_t n = read(fd, text + used, size - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    if (text)
        text[used] = '\0';
    return text;
}

static int start(const char *const *words, int output, bool errors, pid_t *child) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (errors)
        posix_spawn_file_actions_adddup2(&actions, output, 2);
    else
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int error =
        posix_spawnp(child, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

/* Ends the child, which has not answered in time. */
static char *give_up(pid_t child, char *text, int seconds) {
    free(text);
    kill(child, SIGKILL);
    return asprintf(&text, "no answer within %d s", seconds) < 0 ? NULL : text;
}

int answer_of(const char *const *words, int seconds, bool errors, char **text, bool *late) {
    int ends[2], status = 0;
    pid_t child = 0;
    *text = NULL;
    *late = false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    fflush(NULL);
    signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide that it has failed */
    int code = start(words, ends[1], errors, &child);
    close(ends[1]);
    if (code == 0) {
        *text = read_all(ends[0], seconds, late);
        if (*late)
            *text = give_up(child, *text, seconds);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    close(ends[0]);
    for (size_t n = *text ? strlen(*text) : 0; n > 0 && (*text)[n - 1] == '\n';)
        (*text)[--n] = '\0';
    return code;
}
