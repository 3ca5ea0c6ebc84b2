/* SPDX-License-Identifier: MIT */
#include "library.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "array.h"
#include "errors.h"
#include "python.h"

#define NAME "libunstall.so"

/* ---- its place ------------------------------------------------------- */

/* Folders to search, relative to the folder of the command: its own, the path from bindir to libdir, and the
 * path in the build folder. */
static const char *const folders[] = {".", CLI_LIBDIR_FROM_BIN, "../preload"};

static char *usable(const char *self, const char *folder) {
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s/" NAME, self, folder) >= sizeof(path) ||
        access(path, R_OK) != 0)
        return NULL;
    return realpath(path, NULL);
}

const char *library_installed(void) {
    char self[PATH_MAX];
    if (command_itself(self)) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
            char *path = usable(self, folders[i]);
            if (path)
                return path;
        }
    }
    return usable(CLI_LIBDIR, ".");
}

static bool without_exec(const char *path) {
    struct statvfs mount;
    return statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOEXEC);
}

const char *library_find(const char *named) {
    const char *path = named ? realpath(named, NULL) : library_installed();
    if (!path && named) {
        complain("--library %s: %s; give the path of libunstall.so", named, strerror(errno));
    } else if (!path) {
        complain(NAME ": neither beside the command nor in " CLI_LIBDIR
                      "; install it (meson install), or name it: --library FILE");
    } else if (access(path, R_OK) != 0) {
        complain("%s: %s", path, strerror(errno));
        path = NULL;
    } else if (without_exec(path)) {
        complain("%s: is on a noexec mount, from which ld.so loads nothing; name another copy: "
                 "--library FILE",
                 path);
        path = NULL;
    } else if (strpbrk(path, " :")) {
        /* ld.so(8): both separate the libraries of LD_PRELOAD, and there is no quoting */
        complain("%s: its path has a space or colon, which LD_PRELOAD cannot express; name another "
                 "copy: --library FILE",
                 path);
        path = NULL;
    }
    return path;
}

/* ---- LD_PRELOAD ------------------------------------------------------ */

static bool is_ours(const char *entry, size_t length) {
    size_t n = sizeof(NAME) - 1;
    return length >= n && memcmp(entry + length - n, NAME, n) == 0 &&
           (length == n || entry[length - n - 1] == '/');
}

char *preload_list(const char *own, const char *library) {
    size_t size = (own ? strlen(own) : 0) + strlen(library) + 2, used = 0;
    char *list = malloc(size);
    while (list && own && *own) {
        size_t length = strcspn(own, " :");
        if (length && !is_ours(own, length)) {
            memcpy(list + used, own, length);
            used += length;
            list[used++] = ':';
        }
        own += length + (own[length] != '\0');
    }
    if (list)
        memcpy(list + used, library, strlen(library) + 1);
    return list;
}

/* The two word sizes of a machine, and glibc's linker for each. */
struct word_size {
    unsigned char class;
    unsigned machine;
    const char *linker;
};

static const struct word_size pairs[][2] = {
    {{ELFCLASS64, EM_X86_64, "/lib64/ld-linux-x86-64.so.2"},
     {ELFCLASS32, EM_386, "/lib/ld-linux.so.2"}},
    {{ELFCLASS64, EM_AARCH64, "/lib/ld-linux-aarch64.so.1"},
     {ELFCLASS32, EM_ARM, "/lib/ld-linux-armhf.so.3"}},
};

static bool same(const struct elf_facts *f, const struct word_size *w) {
    return f->elf && f->class == w->class && f->machine == w->machine;
}

/* The value of $LIB for this linker: its own folder, without /usr.  `ld.so --list-diagnostics` prints it
 * (dl_dst_lib), but only since glibc 2.33.  False: there is no such linker here. */
static bool folder_of(const char *linker, char folder[PATH_MAX]) {
    char real[PATH_MAX];
    if (!realpath(linker, real))
        return false;
    *strrchr(real, '/') = '\0';
    const char *from = strncmp(real, "/usr/", 5) == 0 ? real + 5 : real + (real[0] == '/');
    snprintf(folder, PATH_MAX, "%s", from);
    return folder[0] != '\0';
}

/* "/usr/lib32/libunstall.so" -> "/usr" and "libunstall.so".  False: it is in no folder of this linker. */
static bool split(const char *library, const char *folder, char prefix[PATH_MAX],
                  const char **name) {
    const char *slash = strrchr(library, '/');
    size_t n = strlen(folder);
    if (!slash || (size_t)(slash - library) < n + 1)
        return false;
    const char *at = slash - n;
    if (strncmp(at, folder, n) != 0 || at[-1] != '/')
        return false;
    snprintf(prefix, PATH_MAX, "%.*s", (int)(at - 1 - library), library);
    *name = slash + 1;
    return true;
}

static bool join(char path[PATH_MAX], const char *prefix, const char *folder, const char *name) {
    int n = snprintf(path, PATH_MAX, "%s/%s/%s", prefix, folder, name);
    return n > 0 && n < PATH_MAX;
}

/* True if `library` is one of `ours`, and its sibling of `other` is there. */
static bool find_sibling(const char *library, const struct word_size *ours,
                         const struct word_size *other, char sibling[PATH_MAX],
                         char pattern[PATH_MAX]) {
    char folder[PATH_MAX], prefix[PATH_MAX];
    const char *name;
    struct elf_facts facts;
    return folder_of(ours->linker, folder) && split(library, folder, prefix, &name) &&
           folder_of(other->linker, folder) && join(sibling, prefix, folder, name) &&
           join(pattern, prefix, "$LIB", name) && elf_facts(sibling, &facts) == 0 &&
           same(&facts, other);
}

static void take(struct preload_entry *e, const char *library, const struct elf_facts *program,
                 const struct word_size *ours, const struct word_size *other) {
    char sibling[PATH_MAX], pattern[PATH_MAX];
    if (!find_sibling(library, ours, other, sibling, pattern))
        return;
    if (same(program, other))
        memcpy(e->file, sibling, sizeof(sibling));
    /* musl's linker does not know $LIB */
    memcpy(e->listed, program->libc == LIBC_MUSL ? e->file : pattern, sizeof(pattern));
}

void preload_entry(struct preload_entry *e, const char *library, const struct elf_facts *program) {
    struct elf_facts facts;
    snprintf(e->file, sizeof(e->file), "%s", library);
    snprintf(e->listed, sizeof(e->listed), "%s", library);
    if (elf_facts(library, &facts) != 0)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        for (size_t k = 0; k < 2; k++)
            if (same(&facts, &pairs[i][k]))
                take(e, library, program, &pairs[i][k], &pairs[i][!k]);
}
