/* SPDX-License-Identifier: MIT
 *
 * Facts from /proc about a running process that concern a preload.
 */
#ifndef UNSTALL_CLI_PROCESS_FACTS_H
#define UNSTALL_CLI_PROCESS_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "prose.h"

struct process_facts {
    pid_t pid;
    char program[PATH_MAX]; /* target of /proc/PID/exe, as this process sees it */
    char library[PATH_MAX]; /* the libunstall.so that it has mapped, or "" */
    bool library_replaced;  /* the file of that library has been replaced since */
    bool preload_asked;     /* LD_PRELOAD named a libunstall.so when it was started */
    char mode[32];          /* UNSTALL_MODE then, or "" */
    char unit[256];         /* its systemd service, or "" */
    bool secure;            /* ld.so's secure mode (AT_SECURE) */
    bool no_new_privs;
    bool rings;       /* it has an io_uring among its descriptors */
    int seccomp;      /* 0 none, 1 strict, 2 a filter */
    uid_t user;       /* effective */
    bool other_files; /* another root directory than this process: a container */
    bool other_network;
    char profile[256]; /* of AppArmor or SELinux, if enforced; or "" */
};

/* The library of a process that was started less than two seconds ago is waited for until then.
 * 0, or -errno: -ESRCH no such process, -EACCES the process may not be inspected, -ENOEXEC it runs no
 * program (a kernel thread, a zombie). */
int process_facts(pid_t pid, struct process_facts *f);

/* Of these facts only the id, the library and what it was started with.  -EACCES for a kernel thread too. */
int process_library(pid_t pid, struct process_facts *f);

/* Appends the command line of a running process, a space before each word, with paths as they are from our
 * working directory.  False, and nothing is appended: it cannot be read, is too long, or the process has made
 * a title of it, as nginx and Redis do. */
bool process_command(struct prose *p, pid_t pid);

/* The service that the process is of; NULL: it is of none, or in a container. */
const char *process_unit(const struct process_facts *f);

/* The same, for what is to hold from its next start on; NULL also for a transient one, which systemd forgets
 * when it ends: `unstall enable` refuses it. */
const char *process_lasting_unit(const struct process_facts *f);

/* True if the process sees a file of this path. */
bool process_sees(pid_t pid, const char *path);

enum { CGROUP_PIDS = 4096 };

struct cgroup_pids {
    pid_t list[CGROUP_PIDS]; /* the first ones, if there are more */
    size_t count;
};

/* The processes of the cgroup with this folder, and of all below it; none if there is no such folder. */
void cgroup_pids(const char *folder, struct cgroup_pids *found);

#endif
