/* SPDX-License-Identifier: MIT
 *
 * What a program's file says about itself, as far as a preload is concerned.
 */
#ifndef UNSTALL_CLI_ELF_FACTS_H
#define UNSTALL_CLI_ELF_FACTS_H

#include <stdbool.h>
#include <sys/types.h>

enum libc_kind {
    LIBC_NONE,  /* no dynamic linker asked for */
    LIBC_GLIBC, /* by the name of the dynamic linker */
    LIBC_MUSL,
    LIBC_OTHER,
};

struct elf_facts {
    bool readable; /* false: nothing else here is known but rights */
    bool elf;
    unsigned char class; /* ELFCLASS32, ELFCLASS64 */
    unsigned machine;    /* EM_X86_64 ... */
    enum libc_kind libc;
    char linker[256]; /* PT_INTERP */
    bool linker_missing;
    bool is_linker; /* ld.so itself, started as a program */
    bool position_independent;
    bool go;
    bool asan;  /* needs a sanitizer's runtime that demands to be the first library */
    bool uring; /* needs liburing */
    /* rights that it would gain over its caller, so that ld.so ignores LD_PRELOAD */
    bool gains_user, gains_group, gains_capabilities;
    uid_t user;
    gid_t group;
};

/* 0 or -errno (the file is not there).  Rights are judged for this process: its user,
 * its no_new_privs, the mount's nosuid. */
int elf_facts(const char *path, struct elf_facts *f);

/* "x86-64", "32-bit x86", ...; another one: "ELF machine 123". */
const char *machine_name(unsigned char class, unsigned machine);

#endif
