/* SPDX-License-Identifier: MIT
 *
 * Another program takes this one's place, or starts beside it.  The held bytes
 * must not wait for it: it sleeps for WAIT_MS.
 */
#include "acts.h"

#include <spawn.h>
#include <wordexp.h>

extern FILE *other_popen(const char *, const char *) SYMBOL("_IO_popen");

extern char **environ;

#define SLEEP "/bin/sleep"
#define SPAN  "0.35"
static char *arguments[] = {"sleep", SPAN, NULL};

ACT(execve, NULL, 0, execve(SLEEP, arguments, environ))
ACT(execv, NULL, 0, execv(SLEEP, arguments))
ACT(execvp, NULL, 0, execvp("sleep", arguments))
ACT(execvpe, NULL, 0, execvpe("sleep", arguments, environ))
ACT(execl, NULL, 0, execl(SLEEP, "sleep", SPAN, (char *)NULL))
ACT(execle, NULL, 0, execle(SLEEP, "sleep", SPAN, (char *)NULL, environ))
ACT(execlp, NULL, 0, execlp("sleep", "sleep", SPAN, (char *)NULL))
ACT(fexecve, NULL, 0, fexecve(open(SLEEP, O_PATH | O_CLOEXEC), arguments, environ))
ACT(execveat, NULL, 0, execveat(AT_FDCWD, SLEEP, arguments, environ, 0))

static pid_t spawned;

ACT(posix_spawn, NULL, 0, posix_spawn(&spawned, SLEEP, NULL, NULL, arguments, environ))
ACT(posix_spawnp, NULL, 0, posix_spawnp(&spawned, "sleep", NULL, NULL, arguments, environ))

/* Called through the GOT: of another call of a name that its libc lacks the link editor makes one of NULL. */
extern __typeof__(posix_spawn) pidfd_spawn __attribute__((weak, noplt)),
    pidfd_spawnp __attribute__((weak, noplt));

ACT(pidfd_spawn, NULL, 0, pidfd_spawn(&spawned, SLEEP, NULL, NULL, arguments, environ))
ACT(pidfd_spawnp, NULL, 0, pidfd_spawnp(&spawned, "sleep", NULL, NULL, arguments, environ))

static posix_spawn_file_actions_t none;

static void no_actions(void) {
    if (posix_spawn_file_actions_init(&none) != 0)
        fail("posix_spawn_file_actions_init");
}

/* the program that is to be spawned gets the connection */
ACT(posix_spawn_file_actions_adddup2, no_actions, 0,
    posix_spawn_file_actions_adddup2(&none, connection, 1))

static FILE *sleeper;

static void sleeping_command(void) {
    sleeper = popen("exec sleep " SPAN, "w");
    if (!sleeper)
        fail("popen");
}

ACT(system, NULL, 0, system("exec sleep " SPAN))
ACT(popen, NULL, 0, popen("exec sleep " SPAN, "r") != NULL)
ACT(_IO_popen, NULL, 0, other_popen("exec sleep " SPAN, "r") != NULL)
static wordexp_t found;

ACT(wordexp, NULL, 0, wordexp("$(exec sleep " SPAN ")", &found, 0))
ACT(pclose, sleeping_command, 0, pclose(sleeper))
