/* SPDX-License-Identifier: MIT
 *
 * What `unstall doctor` found out about a program or a process, and what follows
 * from it.
 */
#ifndef UNSTALL_CLI_DIAGNOSIS_H
#define UNSTALL_CLI_DIAGNOSIS_H

#include <stdio.h>

#include "obstacles.h"
#include "process_facts.h"
#include "tcp_sockets.h"

enum { ADVICE_MOST = 8, ADVICE_ROOM = 700 };

struct diagnosis {
    const char *target; /* as typed */
    struct program program;
    struct elf_facts file;
    struct obstacles obstacles;
    const char *library; /* that would be preloaded; NULL: none is installed */
    bool works;          /* a preload does, or has */

    bool live; /* a process; else the rest is empty */
    struct process_facts process;
    char stats_file[PATH_MAX]; /* its statistics, or "" */
    char mode[32];          /* in force now, as far as is known, or "" */
    struct tcp_socket *sockets;
    size_t socket_count;

    unsigned remark_count, advice_count;
    char remarks[ADVICE_MOST][ADVICE_ROOM];
    char advice[ADVICE_MOST][ADVICE_ROOM]; /* what to do next, each one thing */
};

/* Fills in remarks and advice from the rest. */
void diagnosis_advise(struct diagnosis *d);

/* "a preload works here" */
const char *diagnosis_verdict(const struct diagnosis *d);

void diagnosis_text(FILE *out, const struct diagnosis *d);
void diagnosis_json(FILE *out, const struct diagnosis *d);

#endif
