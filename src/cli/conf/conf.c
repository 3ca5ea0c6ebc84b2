/* SPDX-License-Identifier: MIT */
#include "conf.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "closing.h"
#include "config.h"
#include "errors.h"

enum {
    BYTES_MOST = 1 << 20, /* of a file */
    COMPLAINTS_MOST = 20,
};

struct reading {
    struct conf *conf;
    const char *const *names;
    size_t name_count;
    const char *file;
    unsigned line, bad;
    bool applies; /* the present section applies to this program */
};

/* ---- complaints ------------------------------------------------------- */

/* Complains about the present line, unless there were many already. */
__attribute__((format(printf, 2, 3))) static void bad(struct reading *r, const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (++r->bad <= COMPLAINTS_MOST)
        complain("%s:%u: %s", r->file, r->line, text);
}

/* ---- settings --------------------------------------------------------- */

static void forget(struct conf_setting *s) {
    free(s->variable);
    free(s->value);
    free(s->place);
}

/* A later line replaces an earlier one. */
static void keep(struct reading *r, const char *variable, const char *value) {
    struct conf *c = r->conf;
    struct conf_setting *s = NULL;
    for (size_t i = 0; i < c->count && !s; i++)
        if (strcmp(c->settings[i].variable, variable) == 0)
            s = &c->settings[i];
    if (s) {
        forget(s);
    } else {
        if (!ARRAY_ADD(c->settings, c->count, (struct conf_setting){0}))
            exit(complain("%s", strerror(ENOMEM)));
        s = &c->settings[c->count - 1];
    }
    s->variable = strdup(variable);
    s->value = strdup(value);
    if (asprintf(&s->place, "%s:%u", r->file, r->line) < 0 || !s->variable || !s->value)
        exit(complain("%s", strerror(ENOMEM)));
}

void conf_free(struct conf *c) {
    for (size_t i = 0; i < c->count; i++)
        forget(&c->settings[i]);
    free(c->settings);
    *c = (struct conf){0};
}

/* ---- lines ------------------------------------------------------------ */

static char *trimmed(char *text) {
    text += strspn(text, " \t");
    for (char *end = text + strlen(text); end > text && strchr(" \t\r\n", end[-1]);)
        *--end = '\0';
    return text;
}

static void section(struct reading *r, char *text) {
    char *end = strchr(text, ']');
    char *name = text + 1;
    r->applies = false;
    if (!end || end[1] || end == name || strpbrk(name, "/ \t")) {
        bad(r,
            "%s: expected the name of a program without its path, or of a unit, as in [nginx] or "
            "[nginx.service]",
            text);
        return;
    }
    *end = '\0';
    for (size_t i = 0; i < r->name_count; i++)
        r->applies |= fnmatch(name, r->names[i], 0) == 0;
}

/* True for a relative path in a variable that names a file: the program may run in another folder. */
static bool is_relative(const char *variable, const char *value) {
    return (strcmp(variable, "UNSTALL_REPORT") == 0 || strcmp(variable, "UNSTALL_LOG") == 0) &&
           value[0] != '/' && strcmp(value, "stderr") != 0;
}

static void setting(struct reading *r, char *text) {
    static struct config scratch;
    const char *expected = NULL;
    char *equals = strchr(text, '=');
    if (!equals) {
        bad(r, "%s: expected [SECTION], VARIABLE=VALUE or # COMMENT", text);
        return;
    }
    *equals = '\0';
    const char *variable = trimmed(text), *value = trimmed(equals + 1);
    enum config_result result = config_set(&scratch, variable, value, &expected);
    if (result == CONFIG_OK && is_relative(variable, value)) {
        result = CONFIG_BAD;
        expected = "stderr or the whole path of a file";
    }
    if (result == CONFIG_UNKNOWN)
        bad(r, "%s: no such variable; expected one of libunstall(7), as in UNSTALL_MODE=cork",
            variable);
    else if (result == CONFIG_BAD)
        bad(r, "%s=%s: expected %s", variable, value, expected);
    else if (r->applies)
        keep(r, variable, value);
}

static void take_line(struct reading *r, char *line) {
    char *text = trimmed(line);
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) {
            bad(r, "has a control character; expected text");
            return;
        }
    if (text[0] == '[')
        section(r, text);
    else if (text[0] && text[0] != '#' && text[0] != ';')
        setting(r, text);
}

/* ---- files ------------------------------------------------------------ */

/* A missing file is an error only if the user named it (`must`).  /dev/null counts as an empty file. */
static int read_file(struct reading *r, const char *path, bool must) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && !must)
        return 0;
    CLOSED_FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!f || fstat(fd, &st) != 0)
        return complain("%s: %s", path, strerror(errno));
    FREED char *line = NULL;
    size_t size = 0, total = 0;
    ssize_t n;
    if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
        return complain("%s: is no regular file; expected the settings of unstall.conf(5)", path);
    r->file = path;
    r->applies = true; /* lines before the first section apply to all programs */
    for (r->line = 1; (n = getdelim(&line, &size, '\n', f)) > 0 && total < BYTES_MOST; r->line++) {
        total += (size_t)n;
        if (memchr(line, '\0', (size_t)n))
            bad(r, "has a control character; expected text");
        else
            take_line(r, line);
    }
    if (total >= BYTES_MOST)
        return complain("%s: is larger than 1 MiB; expected the settings of unstall.conf(5)", path);
    return ferror(f) ? complain("%s: %s", path, strerror(errno)) : 0;
}

static int is_conf(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && n > 5 && strcmp(entry->d_name + n - 5, ".conf") == 0;
}

/* Sorts by bytes, not by the locale. */
static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_folder(struct reading *r) {
    struct dirent **list = NULL;
    int failed = 0, count = scandir(CONF_FOLDER, &list, is_conf, by_name);
    if (count < 0)
        return errno == ENOENT ? 0 : complain(CONF_FOLDER ": %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), CONF_FOLDER "/%s", list[i]->d_name);
        if (!failed)
            failed = read_file(r, path, true);
        free(list[i]);
    }
    free(list);
    return failed;
}

int conf_read(struct conf *c, const char *file, const char *const *names, size_t count) {
    struct reading r = {.conf = c, .names = names, .name_count = count};
    *c = (struct conf){0};
    int failed = read_file(&r, file ? file : CONF_FILE, file != NULL);
    if (!failed && !file)
        failed = read_folder(&r);
    if (r.bad > COMPLAINTS_MOST)
        complain("%u more bad lines", r.bad - COMPLAINTS_MOST);
    if (failed || r.bad) {
        conf_free(c);
        return EXIT_OWN;
    }
    return 0;
}
