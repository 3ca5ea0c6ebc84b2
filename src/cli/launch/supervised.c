/* SPDX-License-Identifier: MIT */
#include "supervised.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "errors.h"
#include "guards.h"
#include "supervise.h"

/* True if the supervisor cures a program in spite of this obstacle to a preload.
 * For Go and static programs `run` chooses that by itself; for all others the user must ask for it. */
static bool overcome(const struct launch *l, enum obstacle_kind kind) {
    switch (kind) {
    case OBSTACLE_GO:
    case OBSTACLE_STATIC: return true;
    case OBSTACLE_PRIVILEGES: /* see supervised_begin() */
    case OBSTACLE_LIBC:
    case OBSTACLE_NO_ELF:
    case OBSTACLE_CLEARED:
    case OBSTACLE_SANITIZER: return l->how == HOW_SECCOMP;
    default: return false;
    }
}

const struct obstacle *supervised_choose(struct launch *l, const struct obstacles *found) {
    const struct obstacle *first = obstacles_first(found);
    if (l->how == HOW_PRELOAD || l->how == HOW_PRELOAD_ONLY || (l->how == HOW_CHOSEN && !first))
        return first;
    for (unsigned i = 0; i < found->count; i++) {
        const struct obstacle *o = &found->list[i];
        if (!o->remark && !overcome(l, o->kind))
            return o;
        l->gains_rights |= o->kind == OBSTACLE_PRIVILEGES;
        l->no_preload |= o->kind == OBSTACLE_SANITIZER;
    }
    l->supervised = true;
    if (first)
        snprintf(l->obstacle, sizeof(l->obstacle), "%s", first->reason);
    return NULL;
}

/* ---- what it says ---------------------------------------------------- */

static const char *why(const struct launch *l) {
    return l->obstacle[0] ? l->obstacle : "--how seccomp";
}

int supervised_check(const struct launch *l) {
    static const char *const choices[] = {"UNSTALL_PORTS", "UNSTALL_PEERS", "UNSTALL_PROGRAMS"};
    const char *mode = getenv("UNSTALL_MODE");
    if (mode && (strcmp(mode, "off") == 0 || strcmp(mode, "observe") == 0))
        return complain(
            "%s: %s; the seccomp supervisor cures and has no mode %s; leave the mode out "
            "(--force runs it cured)",
            l->argv[0], why(l), mode);
    for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
        const char *value = getenv(choices[i]);
        if (value && *value)
            return complain("%s: %s; the seccomp supervisor cures all connections and cannot obey "
                            "%s=%s; unset it%s (--force ignores it)",
                            l->argv[0], why(l), choices[i], value,
                            i ? "" : ", or start the program without unstall and cure one port as root: "
                                     "unstall attach --port PORT PID");
    }
    return 0;
}

static bool is_verbose(void) {
    const char *level = getenv("UNSTALL_VERBOSE");
    return level && (level[0] == '1' || level[0] == '2');
}

#define AS_IT_RUNS "start it without unstall and cure it as root: unstall attach PID"

/* Complains with the reason and the next step. */
static int refuse(const struct launch *l, int error) {
    const char *program = l->argv[0];
    if (error == -ENOSYS && !supervise_built())
        return complain("%s: %s; this build has no seccomp supervisor; build it with libseccomp, "
                        "or " AS_IT_RUNS,
                        program, why(l));
    if (error == -ENOSYS)
        return complain("%s: %s; the seccomp supervisor needs Linux %d.%d", program, why(l),
                        SUPERVISE_LEAST_MAJOR, SUPERVISE_LEAST_MINOR);
    if (error == -EBUSY)
        return complain("%s: %s; another program supervises this process by seccomp already, and the kernel "
                        "allows one; " AS_IT_RUNS,
                        program, why(l));
    if (error == -EACCES)
        return complain(
            "%s: %s; the seccomp supervisor needs no_new_privs here, by which it would lose "
            "these rights; start unstall run with CAP_SYS_ADMIN, or " AS_IT_RUNS
            " (--force starts it without the rights)",
            program, why(l));
    return complain("%s: %s; the seccomp supervisor cannot start: %s", program, why(l),
                    strerror(-error));
}

static bool is_under_ours(void) {
    struct guard *guards;
    size_t count = guards_find(&guards);
    bool under = guard_of(getpid(), guards, count) != NULL;
    free(guards);
    return under;
}

int supervised_begin(const struct launch *l) {
    bool no_new_privs, blind;
    int error = supervise_begin(l->gains_rights && !l->force, &no_new_privs, &blind);
    if (error == -EBUSY && is_under_ours()) {
        if (is_verbose())
            remark("%s: %s; it runs under the seccomp supervisor of an outer unstall run", l->argv[0],
                   why(l));
        return 0;
    }
    if (error) {
        int code = refuse(l, error);
        return l->force && error != -ESRCH ? 0 : code; /* ESRCH: the filter may be installed */
    }
    if (blind)
        remark("%s: %s; a seccomp filter of the container forbids the supervisor to look at sockets "
               "(pidfd_getfd), so a connection is not cured on which the program sets TCP_NODELAY itself, as "
               "Go does on each; as root, outside of the container, unstall attach PID cures it",
               l->argv[0], why(l));
    else if (is_verbose())
        remark(
            "%s: %s; it runs under the seccomp supervisor, with TCP_NODELAY on its connections%s",
            l->argv[0], why(l),
            no_new_privs ? "; setuid programs that it starts gain no rights (no_new_privs)" : "");
    return 0;
}
