/* SPDX-License-Identifier: MIT
 *
 * Exchanges; then a message of two processes: this one writes the header, a program that it starts the body,
 * on descriptor 3.  That program says first which options the kernel has.  The exchanges go on.
 *
 * argv[5] names the call that starts it.  Where libc lacks pidfd_spawn(3), a weak reference finds nothing; as
 * Rust's std does, another call follows where it is not there, or says ENOSYS.
 */
#include <spawn.h>

#include "client.h"

enum { BEFORE = 20, AFTER = 8 };

typedef int spawn_t(int *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                    char *const[], char *const[]);

extern spawn_t pidfd_spawn __attribute__((weak)), pidfd_spawnp __attribute__((weak));

/* NULL: libc lacks it.  In a table the link editor would make NULL of each weak reference. */
static spawn_t *call_named(const char *name) {
    return strcmp(name, "pidfd_spawn") == 0    ? pidfd_spawn
           : strcmp(name, "pidfd_spawnp") == 0 ? pidfd_spawnp
           : strcmp(name, "posix_spawn") == 0  ? posix_spawn
                                               : posix_spawnp;
}

static int second(int index) {
    next_message(index);
    printf("second: nodelay %d cork %d\n", raw_option(3, IPPROTO_TCP, TCP_NODELAY),
           raw_option(3, IPPROTO_TCP, TCP_CORK));
    return write(3, message + HEADER, BODY) == BODY ? 0 : 1;
}

/* Waits out of sight of the library. */
static void await_child(idtype_t kind, int id) {
    siginfo_t info = {0};
    CHECK(raw_call(SYS_waitid, kind, id, (long)&info, WEXITED, 0) == 0);
    CHECK(info.si_code == CLD_EXITED && info.si_status == 0);
    if (kind == P_PIDFD) close(id);
}

static void message_of_two(int fd, char *self, const char *how, int index) {
    char number[16];
    char *const words[] = {self, number, NULL}, *const environment[] = {NULL};
    int child = -1, error;
    snprintf(number, sizeof number, "%d", index);
    next_message(index);
    CHECK(write(fd, message, HEADER) == HEADER);
    spawn_t *call = call_named(how);
    error = call ? call(&child, self, NULL, NULL, words, environment) : ENOSYS;
    if (error == ENOSYS) {
        how = "posix_spawn";
        error = posix_spawn(&child, self, NULL, NULL, words, environment);
    }
    errno = error;
    CHECK(error == 0);
    await_child(strncmp(how, "pidfd", 5) == 0 ? P_PIDFD : P_PID, child);
    printf("by %s\n", how);
    read_reply(fd);
}

int main(int argc, char **argv) {
    if (argc == 2) return second(atoi(argv[1]));
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client);
    CHECK(fd == 3);
    exchange_all(fd, 0, BEFORE);
    message_of_two(fd, argv[0], argv[5], BEFORE);
    run_exchanges_from(BEFORE + 1, fd, AFTER, two_writes);
    close(fd);
    return report();
}
