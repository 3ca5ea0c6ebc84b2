/* SPDX-License-Identifier: MIT */
#include "obstacles.h"

#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "array.h"
#include "format.h"

const char *const obstacle_names[OBSTACLE_KINDS] = {
    "elsewhere", "go",     "static",  "privileges", "machine",    "libc",
    "no-linker", "no-elf", "cleared", "sanitizer",  "unreadable", "io-uring",
};

/* ---- the list -------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static void add(struct obstacles *o, enum obstacle_kind kind,
                                                      const char *instead, const char *reason, ...) {
    struct obstacle *new = &o->list[o->count++];
    va_list arguments;
    new->kind = kind;
    new->remark = kind >= OBSTACLE_FIRST_REMARK;
    snprintf(new->instead, sizeof(new->instead), "%s", instead);
    va_start(arguments, reason);
    vsnprintf(new->reason, sizeof(new->reason), reason, arguments);
    va_end(arguments);
}

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
        if (strcmp(name, starters[i].name) == 0)
            add(o, OBSTACLE_ELSEWHERE, starters[i].instead, "%s", starters[i].reason);
}

/* ---- the file -------------------------------------------------------- */

static void no_libc(struct obstacles *o, const struct elf_facts *f) {
    if (f->go)
        add(o, OBSTACLE_GO,
            "Go sets TCP_NODELAY by default: look for SetNoDelay(false) in it; unstall run cures it under a "
            "seccomp supervisor",
            "it is written in Go, which makes network calls without libc");
    else if (f->elf && !f->linker[0] && !f->is_linker)
        add(o, OBSTACLE_STATIC, "unstall run cures it under a seccomp supervisor",
            "it is statically linked%s, so nothing can be preloaded",
            f->position_independent ? " (static-pie)" : "");
}

static void privileges(struct obstacles *o, const struct elf_facts *f) {
    char instead[400] = "give them to the caller instead: AmbientCapabilities= of systemd, or setpriv "
                        "--inh-caps --ambient-caps";
    const struct passwd *user = f->gains_user ? getpwuid(f->user) : NULL;
    const struct group *group = f->gains_group ? getgrgid(f->group) : NULL;
    if (!f->gains_capabilities)
        snprintf(instead, sizeof(instead), "start it as %s already (a service's User= or Group=, setpriv)",
                 user    ? user->pw_name
                 : group ? group->gr_name
                         : "that one");
    if (f->gains_user)
        add(o, OBSTACLE_PRIVILEGES, instead,
            "it is setuid to %s, and ld.so ignores LD_PRELOAD in programs that gain rights",
            user ? user->pw_name : "another user");
    else if (f->gains_group)
        add(o, OBSTACLE_PRIVILEGES, instead,
            "it is setgid to %s, and ld.so ignores LD_PRELOAD in programs that gain rights",
            group ? group->gr_name : "another group");
    else if (f->gains_capabilities)
        add(o, OBSTACLE_PRIVILEGES, instead,
            "it has file capabilities, and ld.so ignores LD_PRELOAD in programs that gain rights");
}

static void kind_of_machine(struct obstacles *o, const struct elf_facts *f,
                            const struct elf_facts *library) {
    if (!f->elf || (f->class == library->class && f->machine == library->machine))
        return;
    char ours[40], theirs[40], instead[400] = "start it without unstall and cure it as root: unstall attach "
                                              "PID";
    snprintf(ours, sizeof(ours), "%s", machine_name(library->class, library->machine));
    snprintf(theirs, sizeof(theirs), "%s", machine_name(f->class, f->machine));
    if (f->linker[0])
        snprintf(instead, sizeof(instead), "build the library for %s too and name it: --library FILE",
                 theirs);
    add(o, OBSTACLE_MACHINE, instead, "it is made for %s, the library for %s", theirs, ours);
}

static void linker(struct obstacles *o, const struct elf_facts *f) {
    if (f->linker[0] && f->linker_missing)
        add(o, OBSTACLE_NO_LINKER, "install the libc that it was made for",
            "its dynamic linker %s is not installed, so it cannot run at all", f->linker);
    else if (f->linker[0] && f->libc == LIBC_OTHER)
        add(o, OBSTACLE_LIBC, "use unstall run --how seccomp, or try it with --force",
            "its dynamic linker %s is neither glibc's nor musl's", f->linker);
}

static void sanitizer(struct obstacles *o, const struct elf_facts *f) {
    const char *options = getenv("ASAN_OPTIONS"), *own = getenv("LD_PRELOAD");
    if (f->asan && !(options && strstr(options, "verify_asan_link_order=0")) && !(own && strstr(own, "asan")))
        add(o, OBSTACLE_SANITIZER, "set ASAN_OPTIONS=verify_asan_link_order=0",
            "its AddressSanitizer ends it if another library is loaded first");
}

void obstacles_find(struct obstacles *o, const struct program *p, const struct elf_facts *f,
                    const struct elf_facts *library) {
    o->count = 0;
    starts_elsewhere(o, p);
    no_libc(o, f);
    privileges(o, f);
    kind_of_machine(o, f, library);
    linker(o, f);
    if (f->readable && !f->elf)
        add(o, OBSTACLE_NO_ELF, "name the program that runs it (java -jar, wine, qemu)",
            "it is neither an ELF program nor a script, so only binfmt_misc knows which program runs it");
    if (p->env_cleared)
        add(o, OBSTACLE_CLEARED, "start its interpreter yourself: unstall run -- INTERPRETER SCRIPT",
            "its first line has env -i, which removes LD_PRELOAD");
    sanitizer(o, f);
    if (!f->readable)
        add(o, OBSTACLE_UNREADABLE, "ask as a user who may read it",
            "it may be run but not read, so nothing is known about it");
    if (f->uring)
        add(o, OBSTACLE_URING,
            "use unstall run --how seccomp, or set UNSTALL_NODELAY=always, if its connections stall",
            "it uses io_uring, and the library does not see writes by it");
}
