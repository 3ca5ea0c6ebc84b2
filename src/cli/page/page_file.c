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
    return complain("--html %s: %s", p->path, strerror(error));
}

int page_file_open(struct page_file *p, const char *path) {
    *p = (struct page_file){.out = stdout, .path = path};
    if (strcmp(path, "-") == 0)
        return 0;
    int n = snprintf(p->draft, sizeof(p->draft), "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(p->draft))
        return refuse(p, ENAMETOOLONG);
    int fd = mkostemp(p->draft, O_CLOEXEC);
    if (fd < 0)
        return refuse(p, errno);
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask); /* mkostemp gives 0600 */
    p->out = fdopen(fd, "w");
    return p->out ? 0 : refuse(p, errno);
}

int page_file_close(struct page_file *p, bool keep) {
    if (!p->draft[0])
        return 0; /* finish_output() judges standard output */
    bool failed = ferror(p->out) != 0;
    failed |= fclose(p->out) != 0;
    int error = failed ? errno ? errno : EIO : 0;
    if (keep && !failed && rename(p->draft, p->path) != 0)
        error = errno;
    if (!keep || error)
        unlink(p->draft);
    return error ? refuse(p, error) : 0;
}
