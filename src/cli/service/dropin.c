/* SPDX-License-Identifier: MIT */
#include "dropin.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "closing.h"
#include "errors.h"
#include "stats_format.h"

#define UNFINISHED "." DROPIN_NAME ".new" /* systemd reads names that end in .conf */
#define FIRST      "# unstall 1 "

enum { TEXT_MOST = 1 << 20 };

/* ---- the place ------------------------------------------------------- */

static const char *home(void) {
    const char *named = getenv("HOME");
    const struct passwd *user = named ? NULL : getpwuid(geteuid());
    return named ? named : user ? user->pw_dir : NULL;
}

bool dropin_base(const struct manager *m, bool runtime, char base[PATH_MAX]) {
    const char *own = runtime ? getenv("XDG_RUNTIME_DIR") : getenv("XDG_CONFIG_HOME");
    int n = 0;
    if (!m->user)
        n = snprintf(base, PATH_MAX, "%s/systemd/system", runtime ? "/run" : "/etc");
    else if (own && own[0] == '/')
        n = snprintf(base, PATH_MAX, "%s/systemd/user", own);
    else if (!runtime && home())
        n = snprintf(base, PATH_MAX, "%s/.config/systemd/user", home());
    if (n > 0 && n < PATH_MAX)
        return true;
    complain("--user: %s; log in as the user",
             runtime ? "XDG_RUNTIME_DIR is not set" : "neither XDG_CONFIG_HOME nor HOME is set");
    return false;
}

unsigned dropin_bases(const struct manager *m, char base[DROPIN_BASES][PATH_MAX]) {
    if (!dropin_base(m, false, base[0]))
        return 0;
    return (!m->user || getenv("XDG_RUNTIME_DIR")) && dropin_base(m, true, base[1]) ? 2 : 1;
}

bool dropin_place(const char *base, const char *unit, struct dropin *d) {
    snprintf(d->folder, sizeof(d->folder), "%s/%s.d", base, unit);
    snprintf(d->unit, sizeof(d->unit), "%s", unit);
    if ((size_t)snprintf(d->path, sizeof(d->path), "%s/%s.d/" DROPIN_NAME, base, unit) < sizeof(d->path))
        return true;
    complain("%s: the path is too long", base);
    return false;
}

/* ---- the text -------------------------------------------------------- */

/* It must show an edit, not an attack, because only root can write here. */
static uint64_t hash_of(const char *text) {
    return stats_hash(0, text, strlen(text));
}

static bool made_folder(const char *text) {
    const char *end = strchrnul(text, '\n');
    return end - text > 7 && memcmp(end - 7, " folder", 7) == 0;
}

static bool is_whole(const char *text) {
    const char *end = strchr(text, '\n');
    size_t n = sizeof(FIRST) - 1;
    char hash[24];
    if (!end || strncmp(text, FIRST, n) != 0)
        return false;
    snprintf(hash, sizeof(hash), "%016" PRIx64, hash_of(end + 1));
    return strncmp(text + n, hash, 16) == 0 && (text[n + 16] == '\n' || text[n + 16] == ' ');
}

char *dropin_text(const struct dropin *d, const char *lines) {
    FREED char *before = NULL;
    char *text = NULL;
    enum dropin_state state = dropin_read(d, &before);
    bool folder = state == DROPIN_OURS ? made_folder(before) : access(d->folder, F_OK) != 0;
    if (asprintf(&text, FIRST "%016" PRIx64 "%s\n%s", hash_of(lines), folder ? " folder" : "",
                 lines) < 0)
        text = NULL;
    return text;
}

void dropin_variable(FILE *out, const char *name, const char *value, bool specifiers) {
    fprintf(out, "Environment=\"%s=", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            fputc('\\', out);
        if (*value == '%' && !specifiers)
            fputc('%', out);
        fputc(*value, out);
    }
    fputs("\"\n", out);
}

bool dropin_has(const char *text, const char *name, char *value, size_t size) {
    static const char lead[] = "Environment=";
    while (text) {
        const char *end = strchrnul(text, '\n');
        FREED char *line =
            strncmp(text, lead, sizeof(lead) - 1) == 0
                ? strndup(text + sizeof(lead) - 1, (size_t)(end - text) - sizeof(lead) + 1)
                : NULL;
        if (line && list_variable(line, name, value, size))
            return true;
        text = *end ? end + 1 : NULL;
    }
    return false;
}

enum dropin_state dropin_read(const struct dropin *d, char **text) {
    struct stat st;
    *text = NULL;
    CLOSED_FD fd = open(d->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? DROPIN_NONE
               : errno == ELOOP                    ? DROPIN_CHANGED
                                                   : DROPIN_UNREADABLE;
    enum dropin_state state = DROPIN_CHANGED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < TEXT_MOST) {
        *text = calloc(1, (size_t)st.st_size + 1);
        if (*text && read(fd, *text, (size_t)st.st_size) == st.st_size && is_whole(*text))
            state = DROPIN_OURS;
    }
    return state;
}

/* ---- the file -------------------------------------------------------- */

static int make_folders(const char *path) {
    char part[PATH_MAX];
    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return mkdir(part, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

/* The folder, locked against another unstall.  -errno on failure. */
static int open_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0)
        return fd;
    int error = -errno;
    if (fd >= 0)
        close(fd);
    return error;
}

static int write_in(int folder, const char *text) {
    size_t length = strlen(text);
    unlinkat(folder, UNFINISHED, 0); /* of a command that was killed */
    int fd = openat(folder, UNFINISHED, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return -errno;
    errno = EIO;
    bool good =
        write(fd, text, length) == (ssize_t)length && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    int error = good ? 0 : -errno;
    close(fd);
    if (good && renameat(folder, UNFINISHED, folder, DROPIN_NAME) != 0)
        error = -errno;
    if (error)
        unlinkat(folder, UNFINISHED, 0);
    else
        fsync(folder);
    return error;
}

int dropin_write(const struct dropin *d, const char *text) {
    bool made = access(d->folder, F_OK) != 0;
    int error = make_folders(d->folder);
    CLOSED_FD fd = error ? error : open_folder(d->folder);
    if (fd < 0)
        return fd;
    error = write_in(fd, text);
    if (error && made)
        rmdir(d->folder);
    return error;
}

int dropin_remove(const struct dropin *d) {
    FREED char *text = NULL;
    dropin_read(d, &text);
    bool made = text && made_folder(text);
    CLOSED_FD fd = open_folder(d->folder);
    if (fd < 0)
        return fd;
    int error = unlinkat(fd, DROPIN_NAME, 0) == 0 ? 0 : -errno;
    unlinkat(fd, UNFINISHED, 0);
    fsync(fd);
    if (!error && made)
        rmdir(d->folder); /* fails if it has other files */
    return error;
}

/* ---- all of them ----------------------------------------------------- */

struct dropin *dropin_list(const char *base, size_t *count) {
    char pattern[PATH_MAX];
    glob_t found;
    *count = 0;
    struct dropin *list = NULL;
    if ((size_t)snprintf(pattern, sizeof(pattern), "%s/*.d/" DROPIN_NAME, base) >= sizeof(pattern) ||
        glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    list = calloc(found.gl_pathc, sizeof(*list));
    for (size_t i = 0; list && i < found.gl_pathc; i++) {
        char unit[PATH_MAX];
        snprintf(unit, sizeof(unit), "%s", found.gl_pathv[i] + strlen(base) + 1);
        *strrchr(unit, '/') = '\0';
        unit[strlen(unit) - 2] = '\0'; /* ".d" */
        if (strlen(unit) < UNIT_ROOM && dropin_place(base, unit, &list[*count]))
            ++*count;
    }
    globfree(&found);
    return list;
}
