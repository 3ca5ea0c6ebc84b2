/* SPDX-License-Identifier: MIT
 *
 * /proc/PID: stat, which every user may read, and other files of it.
 */
#ifndef UNSTALL_CLI_PROCESS_STAT_H
#define UNSTALL_CLI_PROCESS_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "closing.h"

struct process_stat {
    char name[32]; /* of the first thread, as ps(1) shows it */
    pid_t parent, session;
    uint64_t start; /* in clock ticks after boot */
    bool runs;      /* a program: it is no kernel thread, and has not ended (a zombie) */
};

/* False: there is no such process. */
bool process_stat(pid_t pid, struct process_stat *s);

/* "/proc/4711/status".  Writes into `path` and returns it. */
enum { PROCESS_PATH = 64 };
const char *process_path(pid_t pid, const char *which, char path[PROCESS_PATH]);

/* Another file of the process, "status", or folder; NULL, and errno: it may not be read.  process_text: its
 * beginning, as far as there is room; returns its length, 0 where it may not be read. */
FILE *process_open(pid_t pid, const char *which);
DIR *process_folder(pid_t pid, const char *which);
size_t process_text(pid_t pid, const char *which, char *text, size_t size);

/* The text behind `begin` in the first entry of a file that begins with it.  Entries end in `end`: '\n' in
 * status and cgroup, '\0' in environ.  False: there is none. */
bool process_entry(pid_t pid, const char *which, char end, const char *begin, char *text, size_t size);

/* What two paths lead to.  Unknown: one of them may not be looked at. */
enum files { FILES_UNKNOWN, FILES_ARE_ONE, FILES_DIFFER };
enum files files_are(const char *a, const char *b);

/* The path of the file that it runs; "": it may not be known.  Writes into `path` and returns it.
 * process_program: by the name that it goes by, if that is another one of this file, in the same folder, and
 * neither is the beginning of the other: redis-server is a link to redis-check-rdb. */
const char *process_file(pid_t pid, char *path, size_t size);
const char *process_program(pid_t pid, char *path, size_t size);

/* False for a kernel thread, and for a process that has ended: they have no command line. */
bool process_has_command(pid_t pid);

/* The inode of the socket to which a link in /proc/PID/fd leads; 0: it is another file. */
uint64_t process_socket(int folder, const char *name);

/* A decimal number of status, behind "Seccomp:"; 0: there is none. */
long process_number(pid_t pid, const char *begin);

/* The process of a thread; 0: it may not be known. */
pid_t process_of_thread(pid_t thread);

/* True: this is not the id of a process that runs a program, and `why` says so. */
enum { PROCESS_WHY = 96 };
bool process_refused(pid_t id, char why[PROCESS_WHY]);

/* A start as ns of CLOCK_REALTIME. */
uint64_t process_began_ns(uint64_t start);

/* The kernel's version as major * 100 + minor; 0: not known. */
int kernel_version(void);

/* The number that a folder of /proc is named by; 0: it is no process. */
pid_t process_of_folder(const char *name);

/* The next process of /proc, an open folder or NULL; 0: there is none any more. */
pid_t process_next(DIR *proc);

#endif
