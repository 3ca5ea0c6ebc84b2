/* SPDX-License-Identifier: MIT
 *
 * What /proc says about a running process, as far as a preload is concerned.
 */
#ifndef UNSTALL_CLI_PROCESS_FACTS_H
#define UNSTALL_CLI_PROCESS_FACTS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct process_facts {
    pid_t pid;
    char program[PATH_MAX]; /* /proc/PID/exe, as seen from here */
    char library[PATH_MAX]; /* the libunstall.so that it has mapped, or "" */
    bool library_replaced;  /* ... whose file is another one by now */
    bool preload_asked;     /* LD_PRELOAD named a libunstall.so when it was started */
    char mode[32];          /* UNSTALL_MODE then, or "" */
    char unit[256];         /* its systemd service, or "" */
    bool secure;            /* ld.so's secure mode (AT_SECURE) */
    bool no_new_privs;
    int seccomp;      /* 0 none, 1 strict, 2 a filter */
    uid_t user;       /* effective */
    bool other_files; /* another root than ours: a container */
    bool other_network;
    char profile[256]; /* of AppArmor or SELinux, in force; or \"\" */
};

/* 0, or -errno: -ESRCH no such process, -EACCES not ours to look at, -ENOEXEC it has no
 * program: a thread of the kernel, or a process that has ended and was not waited for. */
int process_facts(pid_t pid, struct process_facts *f);

/* Is there such a file for it too? */
bool process_sees(pid_t pid, const char *path);

#endif
