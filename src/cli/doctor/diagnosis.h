/* SPDX-License-Identifier: MIT
 *
 * The diagnosis of `unstall doctor`: the facts about a program or a process, and the advice.
 */
#ifndef UNSTALL_CLI_DIAGNOSIS_H
#define UNSTALL_CLI_DIAGNOSIS_H

#include "obstacles.h"
#include "process_facts.h"
#include "tcp_sockets.h"

enum { ADVICE_MOST = 10, ADVICE_ROOM = PROSE_ROOM + 300 };

struct diagnosis {
    const char *target; /* as typed */
    struct program program;
    struct elf_facts file;
    struct obstacles obstacles;
    const char *library; /* the library to preload; NULL: none is installed */
    bool works;          /* a preload works, or the library is loaded */

    bool live; /* a process; otherwise the rest is empty */
    struct process_facts process;
    char stats_file[PATH_MAX]; /* its statistics, or "" */
    char attached[64];         /* the name of the attachment that cures it (`unstall attach --list`), or "" */
    bool experiment;           /* it is an experiment of `unstall ab` */
    char attached_port[64];    /* the same of one to a port that a socket of it has at one end, or "" */
    unsigned port;
    pid_t fetcher;          /* the command that attaches to it by pidfd_getfd(2), or 0 */
    pid_t guard;            /* the process that keeps the supervisor of `unstall run` above it, or 0 */
    bool guard_blind;       /* ... which does not cure where the program sets TCP_NODELAY itself */
    char mode[32];          /* in force now; "" if it is not known */
    struct tcp_socket *sockets;
    size_t socket_count;

    unsigned remark_count, advice_count;
    char remarks[ADVICE_MOST][ADVICE_ROOM];
    char advice[ADVICE_MOST][ADVICE_ROOM]; /* next steps, one each */
};

/* True if something of unstall cures it that is not the library. */
bool diagnosis_cured(const struct diagnosis *d);

/* Sets remarks and advice by the other members. */
void diagnosis_advise(struct diagnosis *d);

/* "a preload works here" */
const char *diagnosis_verdict(const struct diagnosis *d);

/* Software that is known to stall: docs/affected.md. */
enum { AFFECTED_SIGNS = 4 };

struct affected {
    const char *software; /* its name, and the part that stalls */
    const char *cure;     /* the setting of the software, or the change of its source, that cures it */
    /* The signs by which a program is recognised; NULL behind the last. */
    const char *programs[AFFECTED_SIGNS];  /* names of its program files */
    const char *words[AFFECTED_SIGNS];     /* in the text of a script that uses it */
    const char *libraries[AFFECTED_SIGNS]; /* beginnings of the names of libraries that programs link */
};

/* The row of the table for a program, or NULL.  It reads the first 64 KiB of a script.  NULL also for a
 * script that contains TCP_NODELAY in any form, because it is cured already. */
const struct affected *affected_find(const struct program *program, const struct elf_facts *file);

void diagnosis_text(FILE *out, const struct diagnosis *d);
void diagnosis_json(FILE *out, const struct diagnosis *d);

#endif
