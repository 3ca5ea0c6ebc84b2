/* SPDX-License-Identifier: MIT
 *
 * Facts from a program's file that decide if a preload works in it.
 */
#ifndef UNSTALL_CLI_ELF_FACTS_H
#define UNSTALL_CLI_ELF_FACTS_H

#include <stdbool.h>
#include <sys/types.h>

enum libc_kind {
    LIBC_NONE,  /* the file names no dynamic linker */
    LIBC_GLIBC, /* known by the name of the dynamic linker */
    LIBC_MUSL,
    LIBC_OTHER,
};

struct elf_facts {
    bool readable; /* false: only the rights are known */
    bool elf;
    unsigned char class; /* ELFCLASS32, ELFCLASS64 */
    unsigned machine;    /* EM_X86_64 ... */
    enum libc_kind libc;
    char linker[256]; /* PT_INTERP */
    bool linker_missing;
    bool is_linker; /* the dynamic linker itself, started as a program */
    bool position_independent;
    bool go;
    bool asan;  /* links a sanitizer's runtime, which must be the first library */
    bool uring; /* links liburing, or the process has a ring */
    char needed
        [1024]; /* the names of the libraries that it links, as far as they fit; a '\n' before each */
    /* rights that it gains over its caller; ld.so then ignores LD_PRELOAD */
    bool gains_user, gains_group, gains_capabilities;
    uid_t user;
    gid_t group;
};

/* The rights of the process that would run the file. */
struct elf_caller {
    uid_t user;
    gid_t group;
    bool no_new_privs;
};

/* 0, or -errno if the file does not exist.  The facts about rights hold for this process (or `caller`): they
 * depend on its user, its no_new_privs and the mount's nosuid. */
int elf_facts(const char *path, struct elf_facts *f);
int elf_facts_for(const char *path, const struct elf_caller *caller, struct elf_facts *f);

/* "x86-64", "32-bit x86"; for an unknown machine "ELF machine 123". */
const char *machine_name(unsigned char class, unsigned machine);

#endif
