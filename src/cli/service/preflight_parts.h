/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the preflight only; others include preflight.h.
 */
#ifndef UNSTALL_CLI_PREFLIGHT_PARTS_H
#define UNSTALL_CLI_PREFLIGHT_PARTS_H

#include "elf_facts.h"
#include "preflight.h"

struct check {
    const struct unit *u;
    const char *library; /* of one word size; `other`: of the other word size, or "" */
    char *other, *listed;
    const char *root; /* RootDirectory=, or "" */
    struct elf_caller caller;
    bool stats, force;
};

/* Complains, or with --force only says so.  The exit code. */
__attribute__((format(printf, 2, 3))) int preflight_refuse(const struct check *c,
                                                           const char *format, ...);

/* Sets c->caller: the rights of User= and its like. */
void preflight_caller(struct check *c);

/* The length of the bind mount's path that covers the path, or 0. */
size_t preflight_bound(const struct unit *u, const char *path);

/* Checks that the service can see and read the library. */
int preflight_library(const struct check *c);

#endif
