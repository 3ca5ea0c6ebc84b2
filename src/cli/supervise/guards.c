/* SPDX-License-Identifier: MIT */
#include "guards.h"

#include <string.h>

#include "array.h"
#include "process_stat.h"

/* Not UNSTALL_...: of these the library takes each for a setting. */
#define VARIABLE "_UNSTALL_SUPERVISOR"

void guards_tell(pid_t session) {
    char value[16];
    snprintf(value, sizeof(value), "%d", (int)session);
    setenv(VARIABLE, value, 1);
}

bool guard_is_called(const char *name) {
    return strcmp(name, GUARD_NAME) == 0 || strcmp(name, GUARD_BLIND) == 0;
}

static void take(struct guard **list, size_t *count, const struct process_stat *s) {
    for (size_t i = 0; i < *count; i++)
        if ((*list)[i].session == s->session) {
            if (s->start < (*list)[i].start)
                (*list)[i].start = s->start;
            return;
        }
    ARRAY_ADD(*list, *count, (struct guard){s->session, s->start, strcmp(s->name, GUARD_BLIND) == 0});
}

size_t guards_find(struct guard **list) {
    CLOSED_FOLDER *proc = opendir("/proc");
    size_t count = 0;
    *list = NULL;
    for (pid_t pid; (pid = process_next(proc)) != 0;) {
        struct process_stat s;
        if (process_stat(pid, &s) && guard_is_called(s.name))
            take(list, &count, &s);
    }
    return count;
}

/* The value of the variable in the environment that the process was started with; 0: it has none. */
static pid_t told(pid_t pid) {
    char value[16];
    return process_entry(pid, "environ", '\0', VARIABLE "=", value, sizeof(value))
               ? (pid_t)strtol(value, NULL, 10)
               : 0;
}

/* True if it has a filter: else it has the variable from elsewhere. */
static bool is_filtered(pid_t pid) {
    return process_number(pid, "Seccomp:") == 2;
}

/* A program may start others without its environment, as su(1) does. */
const struct guard *guard_of(pid_t pid, const struct guard *list, size_t count) {
    struct process_stat s;
    if (!count || !is_filtered(pid))
        return NULL;
    for (pid_t at = pid; at > 1; at = process_stat(at, &s) ? s.parent : 0) {
        pid_t session = told(at);
        for (size_t i = 0; session && i < count; i++)
            if (list[i].session == session)
                return &list[i];
    }
    return NULL;
}
