/* SPDX-License-Identifier: MIT */
#include "page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"

static int refuse(const struct page_file *p, int error) {
    return complain("%s %s: %s", p->option, p->path, strerror(error));
}

/* Makes the draft in the folder of the target. */
static int draft_begin(struct page_file *p) {
    const char *slash = strrchr(p->target, '/');
    int folder = slash ? (int)(slash - p->target) + 1 : 0;
    int n = snprintf(p->draft, sizeof(p->draft), "%.*s.unstall.XXXXXX", folder, p->target);
    if (n < 0 || (size_t)n >= sizeof(p->draft)) {
        p->draft[0] = '\0';
        return refuse(p, ENAMETOOLONG);
    }
    int fd = mkostemp(p->draft, O_CLOEXEC);
    if (fd < 0)
        return refuse(p, errno);
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask); /* mkostemp gives 0600 */
    p->out = fdopen(fd, "w");
    return p->out ? 0 : refuse(p, errno);
}

/* S_IFREG, S_IFDIR …  What is not there yet will be a regular file. */
static mode_t kind_of(const char *path) {
    struct stat is;
    return stat(path, &is) == 0 ? is.st_mode & S_IFMT : S_IFREG;
}

/* A link, too, that leads to nothing, or, as /dev/stdout may, to a file without a name. */
static bool is_there(const char *path) {
    struct stat is;
    return lstat(path, &is) == 0;
}

int page_file_open(struct page_file *p, const char *option, const char *path) {
    *p = (struct page_file){.out = stdout, .option = option, .path = path};
    if (strcmp(path, "-") == 0)
        return 0;
    mode_t kind = kind_of(path);
    if (kind == S_IFDIR)
        return refuse(p, EISDIR);
    bool named = realpath(path, p->target) != NULL; /* a link stays a link */
    if (kind != S_IFREG || (!named && is_there(path))) {
        p->out = fopen(path, "we"); /* a pipe, /dev/stdout: a new file must not take its place */
        return p->out ? 0 : refuse(p, errno);
    }
    if (!named) {
        if (strlen(path) >= sizeof(p->target))
            return refuse(p, ENAMETOOLONG);
        memcpy(p->target, path, strlen(path) + 1);
    }
    return draft_begin(p);
}

int page_file_try(const char *option, const char *path) {
    struct page_file p;
    mode_t kind = kind_of(path);
    if (strcmp(path, "-") == 0 || (kind != S_IFREG && kind != S_IFDIR))
        return 0; /* a pipe may have no reader yet */
    int failed = page_file_open(&p, option, path);
    return failed ? failed : page_file_close(&p, false);
}

int page_file_close(struct page_file *p, bool keep) {
    if (p->out == stdout)
        return 0; /* finish_output() judges standard output */
    bool failed = ferror(p->out) != 0;
    failed |= fclose(p->out) != 0;
    int error = failed ? errno ? errno : EIO : 0;
    if (!p->draft[0])
        return error ? refuse(p, error) : 0;
    if (keep && !failed && rename(p->draft, p->target) != 0)
        error = errno;
    if (!keep || error)
        unlink(p->draft);
    return error ? refuse(p, error) : 0;
}
