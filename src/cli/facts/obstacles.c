/* SPDX-License-Identifier: MIT */
#include "obstacles.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "format.h"

const char *const obstacle_names[OBSTACLE_KINDS] = {
    "elsewhere", "go",     "static",  "privileges", "machine",    "libc",
    "no-linker", "no-elf", "cleared", "sanitizer",  "unreadable", "io-uring",
};

/* ---- the list -------------------------------------------------------- */

static struct obstacle *add(struct obstacles *o, enum obstacle_kind kind) {
    struct obstacle *new = &o->list[o->count++];
    memset(new, 0, sizeof(*new));
    new->kind = kind;
    return new;
}

#define REASON(obstacle, ...) snprintf((obstacle)->reason, sizeof((obstacle)->reason), __VA_ARGS__)
#define INSTEAD(obstacle, ...) \
    snprintf((obstacle)->instead, sizeof((obstacle)->instead), __VA_ARGS__)

const struct obstacle *obstacles_first(const struct obstacles *o) {
    for (unsigned i = 0; i < o->count; i++)
        if (!o->list[i].remark)
            return &o->list[i];
    return NULL;
}

/* ---- programs that start others without this environment -------------- */

static const struct {
    const char *name, *reason, *instead;
} starters[] = {
    {"sudo", "sudo drops LD_PRELOAD", "use sudo unstall run -- PROGRAM"},
    {"doas", "doas drops LD_PRELOAD", "use doas unstall run -- PROGRAM"},
    {"pkexec", "pkexec drops LD_PRELOAD", "use pkexec unstall run -- PROGRAM"},
    {"docker", "a container does not inherit LD_PRELOAD",
     "mount libunstall.so into it and set the variable there: docker run -v FILE:FILE:ro -e "
     "LD_PRELOAD=FILE"},
    {"podman", "a container does not inherit LD_PRELOAD",
     "mount libunstall.so into it and set the variable there: podman run -v FILE:FILE:ro -e "
     "LD_PRELOAD=FILE"},
    {"kubectl", "a pod does not inherit LD_PRELOAD",
     "put libunstall.so into the image or a volume, and LD_PRELOAD into the pod's env"},
    {"systemctl", "a service does not inherit LD_PRELOAD",
     "use unstall enable SERVICE"},
    {"flatpak", "a sandbox does not inherit LD_PRELOAD",
     "use flatpak run --filesystem=FOLDER --env=LD_PRELOAD=FILE NAME"},
    {"snap", "a sandbox does not inherit LD_PRELOAD",
     "set LD_PRELOAD inside: snap run --shell NAME"},
};

static void starts_elsewhere(struct obstacles *o, const struct program *p) {
    const char *name = base_of(p->name);
    for (size_t i = 0; i < ARRAY_SIZE(starters); i++)
        if (strcmp(name, starters[i].name) == 0) {
            struct obstacle *new = add(o, OBSTACLE_ELSEWHERE);
            REASON(new, "%s", starters[i].reason);
            INSTEAD(new, "%s", starters[i].instead);
        }
}

/* ---- the file -------------------------------------------------------- */

static void no_libc(struct obstacles *o, const struct elf_facts *f) {
    if (f->go) {
        struct obstacle *new = add(o, OBSTACLE_GO);
        REASON(new, "it is written in Go, which makes network calls without libc");
        INSTEAD(new,
                "Go sets TCP_NODELAY by default: look for SetNoDelay(false) in it; unstall run "
                "cures it under a seccomp supervisor");
    }
    if (f->elf && !f->linker[0] && !f->is_linker && !f->go) {
        struct obstacle *new = add(o, OBSTACLE_STATIC);
        REASON(new, "it is statically linked%s, so nothing can be preloaded",
               f->position_independent ? " (static-pie)" : "");
        INSTEAD(new, "unstall run cures it under a seccomp supervisor");
    }
}

static void privileges(struct obstacles *o, const struct elf_facts *f) {
    if (!f->gains_user && !f->gains_group && !f->gains_capabilities)
        return;
    struct obstacle *new = add(o, OBSTACLE_PRIVILEGES);
    const struct passwd *user = f->gains_user ? getpwuid(f->user) : NULL;
    const struct group *group = f->gains_group ? getgrgid(f->group) : NULL;
    if (f->gains_user)
        REASON(new, "it is setuid to %s, and ld.so ignores LD_PRELOAD in programs that gain rights",
               user ? user->pw_name : "another user");
    else if (f->gains_group)
        REASON(new, "it is setgid to %s, and ld.so ignores LD_PRELOAD in programs that gain rights",
               group ? group->gr_name : "another group");
    else
        REASON(new, "it has file capabilities, and ld.so ignores LD_PRELOAD in programs that gain "
                    "rights");
    if (f->gains_capabilities)
        INSTEAD(new, "give them to the caller instead: AmbientCapabilities= of systemd, or "
                     "setpriv --inh-caps --ambient-caps");
    else
        INSTEAD(new, "start it as %s already (a service's User= or Group=, setpriv)",
                user    ? user->pw_name
                : group ? group->gr_name
                        : "that one");
}

static void kind_of_machine(struct obstacles *o, const struct elf_facts *f,
                            const struct elf_facts *library) {
    if (!f->elf || (f->class == library->class && f->machine == library->machine))
        return;
    char ours[40];
    snprintf(ours, sizeof(ours), "%s", machine_name(library->class, library->machine));
    struct obstacle *new = add(o, OBSTACLE_MACHINE);
    REASON(new, "it is made for %s, the library for %s", machine_name(f->class, f->machine), ours);
    if (f->linker[0])
        INSTEAD(new, "build the library for %s too and name it: --library FILE",
                machine_name(f->class, f->machine));
    else
        INSTEAD(new, "start it without unstall and cure it as root: unstall attach PID");
}

static void linker(struct obstacles *o, const struct elf_facts *f) {
    if (!f->linker[0])
        return;
    if (f->linker_missing) {
        struct obstacle *new = add(o, OBSTACLE_NO_LINKER);
        REASON(new, "its dynamic linker %s is not installed, so it cannot run at all", f->linker);
        INSTEAD(new, "install the libc that it was made for");
    } else if (f->libc == LIBC_OTHER) {
        struct obstacle *new = add(o, OBSTACLE_LIBC);
        REASON(new, "its dynamic linker %s is neither glibc's nor musl's", f->linker);
        INSTEAD(new, "use unstall run --how seccomp, or try it with --force");
    }
}

static void sanitizer(struct obstacles *o, const struct elf_facts *f) {
    const char *options = getenv("ASAN_OPTIONS"), *own = getenv("LD_PRELOAD");
    if (!f->asan || (options && strstr(options, "verify_asan_link_order=0")) ||
        (own && strstr(own, "asan")))
        return;
    struct obstacle *new = add(o, OBSTACLE_SANITIZER);
    REASON(new, "its AddressSanitizer ends it if another library is loaded first");
    INSTEAD(new, "set ASAN_OPTIONS=verify_asan_link_order=0");
}

static void remarks(struct obstacles *o, const struct elf_facts *f) {
    if (!f->readable) {
        struct obstacle *new = add(o, OBSTACLE_UNREADABLE);
        new->remark = true;
        REASON(new, "it may be run but not read, so nothing is known about it");
        INSTEAD(new, "ask as a user who may read it");
    }
    if (f->uring) {
        struct obstacle *new = add(o, OBSTACLE_URING);
        new->remark = true;
        REASON(new, "it uses io_uring, and the library does not see writes by it");
        INSTEAD(new, "use unstall run --how seccomp, or set UNSTALL_NODELAY=always, if its "
                     "connections stall");
    }
}

void obstacles_find(struct obstacles *o, const struct program *p, const struct elf_facts *f,
                    const struct elf_facts *library) {
    o->count = 0;
    starts_elsewhere(o, p);
    no_libc(o, f);
    privileges(o, f);
    kind_of_machine(o, f, library);
    linker(o, f);
    if (f->readable && !f->elf) {
        struct obstacle *new = add(o, OBSTACLE_NO_ELF);
        REASON(new, "it is neither an ELF program nor a script, so only binfmt_misc knows which "
                    "program runs it");
        INSTEAD(new, "name the program that runs it (java -jar, wine, qemu)");
    }
    if (p->env_cleared) {
        struct obstacle *new = add(o, OBSTACLE_CLEARED);
        REASON(new, "its first line has env -i, which removes LD_PRELOAD");
        INSTEAD(new, "start its interpreter yourself: unstall run -- INTERPRETER SCRIPT");
    }
    sanitizer(o, f);
    remarks(o, f);
}
