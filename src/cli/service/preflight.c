/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "closing.h"
#include "errors.h"
#include "library.h"
#include "obstacles.h"
#include "unit.h"

struct check {
    const struct unit *u;
    const char *library; /* of one word size; `other`: of the other word size, or "" */
    char *other, *listed;
    const char *root; /* RootDirectory=, or "" */
    struct elf_caller caller;
    bool stats, force;
};

/* Complains, or with --force only says so.  The exit code. */
__attribute__((format(printf, 2, 3))) static int refuse(const struct check *c, const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!c->force)
        return complain("%s: %s (--force enables it anyway)", c->u->name, text);
    remark("%s: %s", c->u->name, text);
    return 0;
}

/* ---- the user -------------------------------------------------------- */

/* An id in the range of DynamicUser=, which owns no file. */
enum { SOME_USER = 61184 };

/* Sets c->caller: the rights of User= and its like. */
static void find_caller(struct check *c) {
    const char *user = property(&c->u->p, "User"), *group = property(&c->u->p, "Group");
    bool dynamic = property_is(&c->u->p, "DynamicUser", "yes");
    c->caller.no_new_privs = property_is(&c->u->p, "NoNewPrivileges", "yes") || dynamic;
    c->caller.user = c->u->manager.user ? geteuid() : 0;
    c->caller.group = c->u->manager.user ? getegid() : 0;
    if (user[0] || dynamic) {
        const struct passwd *known = getpwnam(user);
        char *end = NULL;
        unsigned long number = strtoul(user, &end, 10);
        bool numeric = user[0] && !*end;
        c->caller.user = known ? known->pw_uid : numeric ? (uid_t)number : SOME_USER;
        c->caller.group = known ? known->pw_gid : (gid_t)c->caller.user;
    }
    const struct group *known = group[0] ? getgrnam(group) : NULL;
    if (known)
        c->caller.group = known->gr_gid;
}

static bool in_group(const struct check *c, gid_t group) {
    gid_t groups[256];
    int count = ARRAY_SIZE(groups);
    const struct passwd *user = getpwuid(c->caller.user);
    if (group == c->caller.group)
        return true;
    if (!user || getgrouplist(user->pw_name, c->caller.group, groups, &count) < 0)
        return false;
    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return true;
    return false;
}

/* True if the service's user has this right (1 search, 4 read) on a file.  Ignores access control lists. */
static bool permits(const struct check *c, const char *path, mode_t right) {
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    if (c->caller.user == 0)
        return true;
    mode_t shift = st.st_uid == c->caller.user ? 6 : in_group(c, st.st_gid) ? 3 : 0;
    return st.st_mode & (right << shift);
}

/* The first folder of the path that the user may not search, or NULL. */
static const char *forbidden_part(const struct check *c, const char *path) {
    static char part[2 * PATH_MAX];
    snprintf(part, sizeof(part), "%s", path);
    if (!permits(c, part, 4))
        return part;
    for (char *slash; (slash = strrchr(part, '/')) != NULL && slash != part;) {
        *slash = '\0';
        if (!permits(c, part, 1))
            return part;
    }
    return NULL;
}

/* ---- the file system that it sees ------------------------------------- */

/* The length of `folder` if it is the path or above it, else 0. */
static size_t covers(const char *folder, const char *path) {
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/')
        n--;
    if (n == 1 && folder[0] == '/')
        return 1;
    return n && strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]) ? n : 0;
}

/* The longest entry of a list of paths that covers the path.  An entry may begin with - and +;
 * "from:to:options" of bind mounts counts by `to`, "path:options" of others by its first part. */
static size_t covered(const struct unit *u, const char *name, const char *path, bool binds) {
    const char *list = property(&u->p, name);
    char entry[2 * PATH_MAX];
    size_t most = 0;
    while (list_word(&list, entry, sizeof(entry))) {
        char *place = entry + strspn(entry, "-+"), *rest = place;
        char *first = strsep(&rest, ":"), *second = binds && rest ? strsep(&rest, ":") : NULL;
        size_t n = covers(second && second[0] ? second : first, path);
        most = n > most ? n : most;
    }
    return most;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* The length of the bind mount's path that covers the path, or 0. */
static size_t bound(const struct unit *u, const char *path) {
    return larger(covered(u, "BindPaths", path, true), covered(u, "BindReadOnlyPaths", path, true));
}

/* The option that hides the path, or NULL. */
static const char *hidden_by(const struct check *c, const char *path) {
    static const struct {
        const char *option, *value, *folder; /* no folder: those that it lists */
    } hiding[] = {
        {"ProtectHome", "yes", "/home"},         {"ProtectHome", "yes", "/root"},
        {"ProtectHome", "yes", "/run/user"},     {"ProtectHome", "tmpfs", "/home"},
        {"ProtectHome", "tmpfs", "/root"},       {"ProtectHome", "tmpfs", "/run/user"},
        {"PrivateTmp", "yes", "/tmp"},           {"PrivateTmp", "yes", "/var/tmp"},
        {"InaccessiblePaths", NULL, NULL},       {"TemporaryFileSystem", NULL, NULL},
    };
    const struct unit *u = c->u;
    size_t shown = bound(u, path);
    for (size_t i = 0; i < ARRAY_SIZE(hiding); i++)
        if (hiding[i].folder ? property_is(&u->p, hiding[i].option, hiding[i].value) &&
                                   covers(hiding[i].folder, path) > shown
                             : covered(u, hiding[i].option, path, false) > shown)
            return hiding[i].option;
    if (covered(u, "NoExecPaths", path, false) > covered(u, "ExecPaths", path, false))
        return "NoExecPaths";
    return NULL;
}

static int check_copy(const struct check *c, const char *library) {
    static const char elsewhere[] =
        "install the library below /usr (meson install), or name a copy: "
        "--library FILE";
    char inside[2 * PATH_MAX];
    if (property(&c->u->p, "RootImage")[0])
        return refuse(
            c, "it runs in the image %s, into which unstall does not look; put %s there",
            property(&c->u->p, "RootImage"), library);
    bool mounted = bound(c->u, library) > 0;
    snprintf(inside, sizeof(inside), "%s%s", mounted ? "" : c->root, library);
    if (access(inside, R_OK) != 0)
        return refuse(c, "it runs in RootDirectory=%s, which has no %s; put a copy there",
                                c->root, library);
    const char *hidden = hidden_by(c, library);
    if (hidden)
        return refuse(c, "it cannot load %s, by its %s=; %s", library, hidden, elsewhere);
    const char *part = forbidden_part(c, inside);
    if (part)
        return refuse(c, "its user may not read %s (%s); %s", library, part, elsewhere);
    return 0;
}

/* Checks that the service can see and read the library. */
static int check_library(const struct check *c) {
    int failed = check_copy(c, c->library);
    return failed || !c->other[0] ? failed : check_copy(c, c->other);
}

/* ---- the programs ---------------------------------------------------- */

bool exec_path(const char *exec, char *path, size_t size) {
    static const char lead[] = "{ path=", end[] = " ; argv[]=";
    const char *stop = strstr(exec, end);
    if (strncmp(exec, lead, sizeof(lead) - 1) != 0 || !stop)
        return false;
    size_t n = (size_t)(stop - exec) - sizeof(lead) + 1;
    if (n >= size)
        return false;
    memcpy(path, exec + sizeof(lead) - 1, n);
    path[n] = '\0';
    return true;
}

/* Paths in #! lines are not valid outside of their root: in another root the check looks at the file
 * alone. */
static int find_program(const struct check *c, const char *path, struct program *p, char *inside,
                        size_t size) {
    if (!c->root[0] || bound(c->u, path))
        return program_find(p, path);
    memset(p, 0, sizeof(*p));
    p->name = path;
    if ((size_t)snprintf(inside, size, "%s%s", c->root, path) >= sizeof(p->path))
        return -ENAMETOOLONG;
    snprintf(p->path, sizeof(p->path), "%.*s", PATH_MAX - 1, inside);
    memcpy(p->file, p->path, sizeof(p->file));
    return access(p->file, F_OK) == 0 ? 0 : -errno;
}

static bool is_script(const char *file) {
    char head[2] = "";
    CLOSED_FILE *f = fopen(file, "re");
    return f && fread(head, 1, sizeof(head), f) == sizeof(head) && memcmp(head, "#!", 2) == 0;
}

/* The library for this program.  In another root $LIB may be another folder, so no library of the other word
 * size is looked for there. */
static int choose_library(const struct check *c, const struct elf_facts *program,
                          struct elf_facts *library) {
    static struct preload_entry entry;
    if (!c->root[0]) {
        preload_entry(&entry, c->library, program);
        if (!c->listed[0])
            memcpy(c->listed, entry.listed, sizeof(entry.listed));
        if (strcmp(entry.file, c->library) != 0)
            memcpy(c->other, entry.file, sizeof(entry.file));
    }
    const char *file = c->root[0] ? c->library : entry.file;
    return elf_facts(file, library) == 0 && library->elf
               ? 0
               : complain("%s: is not a shared library; build and install it again", file);
}

/* The advice for a service; the obstacle's own advice is for a program started at a shell. */
static const char *instead(const struct check *c, const struct obstacle *o, const char *path) {
    static char text[2 * PATH_MAX];
    char attach[2 * UNIT_ROOM] = "";
    if (o->kind != OBSTACLE_GO && o->kind != OBSTACLE_STATIC)
        return o->instead;
    if (!c->u->manager.user)
        snprintf(attach, sizeof(attach),
                 "unstall attach --detach --unit %s cures it until its next restart; ",
                 c->u->asked);
    snprintf(text, sizeof(text), "%sExecStart=unstall run -- %s in a drop-in of yours for good",
             attach, path);
    return text;
}

static int check_program(const struct check *c, const char *path) {
    static char inside[2 * PATH_MAX];
    struct elf_facts library;
    struct program p;
    struct elf_facts facts;
    struct obstacles found;
    int error = find_program(c, path, &p, inside, sizeof(inside));
    if (!error)
        error = elf_facts_for(p.file, &c->caller, &facts);
    if (error)
        return refuse(c, "its program %s: %s", path, strerror(-error));
    if (c->root[0]) {
        facts.linker_missing = false;
        if (is_script(p.file)) {
            remark("%s: %s: is a script, and the interpreter in its #! line is not looked at in "
                   "RootDirectory=%s",
                   c->u->name, path, c->root);
            return 0;
        }
    }
    if (choose_library(c, &facts, &library) != 0)
        return EXIT_OWN;
    obstacles_find(&found, &p, &facts, &library);
    const struct obstacle *first = obstacles_first(&found);
    for (unsigned i = 0; i < found.count; i++)
        if (found.list[i].remark)
            remark("%s: %s: %s; %s", c->u->name, path, found.list[i].reason, found.list[i].instead);
    if (!first)
        return 0;
    bool through = p.script[0] && first->kind != OBSTACLE_CLEARED;
    return refuse(c, "%s%s%s: %s; %s", path, through ? ", run by " : "",
                            through ? p.file : "", first->reason, instead(c, first, path));
}

static int check_programs(const struct check *c) {
    char path[PATH_MAX];
    const char *exec = NULL;
    bool any = false;
    while ((exec = property_next(&c->u->p, "ExecStart", exec)) != NULL) {
        if (!exec_path(exec, path, sizeof(path)))
            continue;
        any = true;
        int failed = check_program(c, path);
        if (failed)
            return failed;
    }
    return any ? 0 : refuse(c, "it has no ExecStart=, so it runs no program");
}

/* ---- system calls ---------------------------------------------------- */

/* The calls that the library makes of its own accord.  A filter that forbids one ends the program, or makes
 * the cure fail.  tests/service/test_calls.py compares the lists with src/preload. */
static const char *const calls[] = {
    "clock_gettime", "clone",         "close",          "exit",            "faccessat",
    "fcntl",         "futex",         "getpeername",    "getpid",          "getrusage",
    "getsockname",   "getsockopt",    "gettid",         "getuid",          "madvise",
    "mmap",          "mprotect",      "munmap",         "nanosleep",       "newfstatat",
    "openat",        "ppoll",         "prctl",          "prlimit64",       "read",
    "readlinkat",    "rt_sigpending", "rt_sigprocmask", "rt_sigtimedwait", "rt_tgsigqueueinfo",
    "sendmsg",       "sendto",        "setsockopt",     "tgkill",          "write",
};
static const char *const calls_of_stats[] = {
    "fallocate", "fchmod", "fstatfs", "ftruncate", "geteuid", "getppid", "read", "unlinkat",
};

/* "~a b" means all calls except a and b, "a b" only these.  A word may have an error number: "a:EPERM". */
static bool is_listed(const char *list, const char *call) {
    char word[128];
    while (list_word(&list, word, sizeof(word))) {
        word[strcspn(word, ":")] = '\0';
        if (strcmp(word, call) == 0)
            return true;
    }
    return false;
}

static int check_calls_of(const struct check *c, const char *const *list, size_t count) {
    const char *filter = property(&c->u->p, "SystemCallFilter");
    bool denies = filter[0] == '~';
    for (size_t i = 0; filter[0] && i < count; i++)
        if (is_listed(filter + denies, list[i]) == denies)
            return refuse(
                c,
                "its SystemCallFilter= forbids %s, which the library calls; add "
                "SystemCallFilter=%s to the unit",
                list[i], list[i]);
    return 0;
}

static int check_calls(const struct check *c) {
    int failed = check_calls_of(c, calls, ARRAY_SIZE(calls));
    return failed || !c->stats ? failed
                               : check_calls_of(c, calls_of_stats, ARRAY_SIZE(calls_of_stats));
}

/* ---- the environment -------------------------------------------------- */

/* True if the file sets LD_PRELOAD: it wins over Environment= of the drop-in. */
static bool sets_preload(const char *path) {
    CLOSED_FILE *f = fopen(path, "re");
    FREED char *line = NULL;
    size_t size = 0;
    bool sets = false;
    while (f && !sets && getline(&line, &size, f) > 0)
        sets = strncmp(line + strspn(line, " \t"), "LD_PRELOAD=", 11) == 0;
    return sets;
}

static int check_environment(const struct check *c) {
    const char *file = NULL, *unset = property(&c->u->p, "UnsetEnvironment");
    char word[PATH_MAX];
    while (list_word(&unset, word, sizeof(word)))
        if (strncmp(word, "LD_PRELOAD", 10) == 0 && (!word[10] || word[10] == '='))
            return refuse(c, "its UnsetEnvironment= removes LD_PRELOAD; take that out");
    while ((file = property_next(&c->u->p, "EnvironmentFiles", file)) != NULL) {
        glob_t found;
        snprintf(word, sizeof(word), "%s", file);
        char *end = strstr(word, " (ignore_errors=");
        if (end)
            *end = '\0';
        bool sets = false;
        if (glob(word, 0, NULL, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc && !sets; i++)
                sets = sets_preload(found.gl_pathv[i]);
            globfree(&found);
        }
        if (sets)
            return refuse(
                c,
                "its EnvironmentFile=%s sets LD_PRELOAD, which wins over a drop-in; add %s there",
                word, c->library);
    }
    return 0;
}

static int check_stats_folder(const struct check *c) {
    const char *mode = property(&c->u->p, "RuntimeDirectoryMode");
    if (c->stats && (strtoul(mode, NULL, 8) & (S_IWGRP | S_IWOTH)))
        return refuse(
            c,
            "--stats: its RuntimeDirectoryMode=%s lets others write to the statistics, which the "
            "library refuses; set 0755 or less",
            mode);
    return 0;
}

static void remarks(const struct check *c) {
    const char *profile = property(&c->u->p, "AppArmorProfile");
    if (!profile[0])
        profile = property(&c->u->p, "SELinuxContext");
    if (profile[0])
        remark("%s: its profile %s must allow it to read and map %s", c->u->name, profile,
               c->library);
    if (c->u->template)
        remark("%s: is a template; looked at as %s, and enabled for all its instances", c->u->name,
               c->u->asked);
}

int unit_preflight(const struct unit *u, const char *library, bool stats, bool force,
                   char listed[PATH_MAX]) {
    static char other[PATH_MAX];
    struct check c = {.u = u,
                      .library = library,
                      .other = other,
                      .listed = listed,
                      .stats = stats,
                      .force = force};
    listed[0] = '\0';
    static int (*const checks[])(const struct check *) = {
        check_programs, check_library, check_calls, check_environment, check_stats_folder,
    };
    c.root = property(&u->p, "RootDirectory");
    if (strcmp(c.root, "/") == 0)
        c.root = "";
    find_caller(&c);
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        int failed = checks[i](&c);
        if (failed)
            return failed;
    }
    if (!listed[0])
        snprintf(listed, PATH_MAX, "%s", library);
    remarks(&c);
    return 0;
}
