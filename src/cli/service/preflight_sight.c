/* SPDX-License-Identifier: MIT
 *
 * Checks that the processes of a service can read the library: by their user's rights, and in their sandbox.
 */
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "preflight_parts.h"

/* ---- the user -------------------------------------------------------- */

/* An id in the range of DynamicUser=, which owns no file. */
enum { SOME_USER = 61184 };

void preflight_caller(struct check *c) {
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

size_t preflight_bound(const struct unit *u, const char *path) {
    return larger(covered(u, "BindPaths", path, true), covered(u, "BindReadOnlyPaths", path, true));
}

/* The option that hides the path, or NULL. */
static const char *hidden_by(const struct check *c, const char *path) {
    static const char *const homes[] = {"/home", "/root", "/run/user"}, *const tmps[] = {
                                                                            "/tmp", "/var/tmp"};
    const struct unit *u = c->u;
    size_t shown = preflight_bound(u, path);
    const char *home = property(&u->p, "ProtectHome");
    if (strcmp(home, "yes") == 0 || strcmp(home, "tmpfs") == 0)
        for (size_t i = 0; i < ARRAY_SIZE(homes); i++)
            if (covers(homes[i], path) > shown)
                return "ProtectHome=";
    if (property_is(&u->p, "PrivateTmp", "yes"))
        for (size_t i = 0; i < ARRAY_SIZE(tmps); i++)
            if (covers(tmps[i], path) > shown)
                return "PrivateTmp=";
    if (covered(u, "InaccessiblePaths", path, false) > shown)
        return "InaccessiblePaths=";
    if (covered(u, "TemporaryFileSystem", path, false) > shown)
        return "TemporaryFileSystem=";
    if (covered(u, "NoExecPaths", path, false) > covered(u, "ExecPaths", path, false))
        return "NoExecPaths=";
    return NULL;
}

static int check_copy(const struct check *c, const char *library) {
    static const char elsewhere[] =
        "install the library below /usr (meson install), or name a copy: "
        "--library FILE";
    char inside[2 * PATH_MAX];
    if (property(&c->u->p, "RootImage")[0])
        return preflight_refuse(
            c, "it runs in the image %s, into which unstall does not look; put %s there",
            property(&c->u->p, "RootImage"), library);
    bool mounted = preflight_bound(c->u, library) > 0;
    snprintf(inside, sizeof(inside), "%s%s", mounted ? "" : c->root, library);
    if (access(inside, R_OK) != 0)
        return preflight_refuse(c, "it runs in RootDirectory=%s, which has no %s; put a copy there",
                                c->root, library);
    const char *hidden = hidden_by(c, library);
    if (hidden)
        return preflight_refuse(c, "it cannot load %s, by its %s; %s", library, hidden, elsewhere);
    const char *part = forbidden_part(c, inside);
    if (part)
        return preflight_refuse(c, "its user may not read %s (%s); %s", library, part, elsewhere);
    return 0;
}

int preflight_library(const struct check *c) {
    int failed = check_copy(c, c->library);
    return failed || !c->other[0] ? failed : check_copy(c, c->other);
}
