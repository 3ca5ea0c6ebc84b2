/* SPDX-License-Identifier: MIT
 *
 * Preloaded into a program that qemu-user runs: a program of the same processor that it executes is run by
 * qemu-user, too (ARCH_QEMU).  The kernel knows only the programs of its own processor, unless binfmt_misc
 * says otherwise, which is host-wide.  Criterion executes a program for each of its tests.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 256 };

static int machine_of(const char *path) {
    Elf64_Ehdr header = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return EM_NONE;
    if (read(fd, &header, sizeof(header)) != sizeof(header))
        header.e_machine = EM_NONE;
    close(fd);
    return header.e_machine;
}

int execve(const char *path, char *const arguments[], char *const environment[]) {
    __typeof__(execve) *next = (__typeof__(execve) *)dlsym(RTLD_NEXT, "execve");
    char *qemu = getenv("ARCH_QEMU");
    char *words[MOST] = {qemu, "-0", arguments[0]}, *variables[MOST], preload[MOST];
    char self[MOST] = "";
    int count = 3, kept = 0;
    if (strcmp(path, "/proc/self/exe") == 0 && readlink(path, self, MOST - 1) > 0)
        path = self; /* qemu-user says which program it runs; to qemu-user's own self it would be qemu */
    if (!qemu || machine_of(path) != machine_of("/proc/self/exe"))
        return next(path, arguments, environment);
    for (int i = 0; environment[i] && kept < MOST - 1; i++)
        if (strncmp(environment[i], "LD_PRELOAD=", 11) != 0) { /* qemu's own loader reads it, too */
            variables[kept++] = environment[i];
        } else if (!getenv("ARCH_EXEC_ONCE")) {
            snprintf(preload, sizeof(preload), "%s", environment[i]);
            words[count++] = "-E";
            words[count++] = preload;
        }
    variables[kept] = NULL;
    words[count++] = (char *)path;
    for (int i = 1; arguments[i] && count < MOST - 1; i++)
        words[count++] = arguments[i];
    words[count] = NULL;
    return next(qemu, words, variables);
}
