/* SPDX-License-Identifier: MIT
 *
 * The obstacles to a preload in a program, from the facts about its file.  `unstall run` refuses to start
 * it, `unstall doctor` explains them.
 */
#ifndef UNSTALL_CLI_OBSTACLES_H
#define UNSTALL_CLI_OBSTACLES_H

#include "elf_facts.h"
#include "program.h"

enum obstacle_kind {
    OBSTACLE_ELSEWHERE,  /* a launcher whose programs do not inherit LD_PRELOAD (sudo) */
    OBSTACLE_GO,         /* system calls without libc */
    OBSTACLE_STATIC,     /* no dynamic linker */
    OBSTACLE_PRIVILEGES, /* ld.so's secure mode */
    OBSTACLE_MACHINE,    /* not the library's class or machine */
    OBSTACLE_LIBC,       /* neither glibc nor musl */
    OBSTACLE_NO_LINKER,  /* the program's dynamic linker is not installed */
    OBSTACLE_NO_ELF,     /* no ELF file and no script */
    OBSTACLE_CLEARED,    /* env -i */
    OBSTACLE_SANITIZER,  /* a sanitizer must be the first library */
    OBSTACLE_UNREADABLE, /* may be run but not read (a remark) */
    OBSTACLE_FIRST_REMARK = OBSTACLE_UNREADABLE,
    OBSTACLE_URING,      /* writes by io_uring are not seen (a remark) */
    OBSTACLE_KINDS,
};

struct obstacle {
    enum obstacle_kind kind;
    bool remark;       /* no obstacle: a preload works */
    char reason[400];  /* "it is statically linked, ..." */
    char instead[400]; /* the way out: "link it dynamically, ..." */
};

struct obstacles {
    unsigned count;
    struct obstacle list[OBSTACLE_KINDS];
};

extern const char *const obstacle_names[OBSTACLE_KINDS];

/* `library`: the facts of libunstall.so. */
void obstacles_find(struct obstacles *o, const struct program *p, const struct elf_facts *f,
                    const struct elf_facts *library);

/* The first one that forbids a preload, or NULL. */
const struct obstacle *obstacles_first(const struct obstacles *o);

#endif
