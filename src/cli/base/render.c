/* SPDX-License-Identifier: MIT */
#include "render.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "closing.h"
#include "errors.h"
#include "python.h"

static int find_renderer(const char *path, char renderer[PATH_MAX]) {
    if (access(PYTHON, X_OK) != 0)
        return complain("--html %s: " PYTHON " draws the page: %s; install python3, or take --json", path,
                        strerror(errno));
    if (!python_part("pages", renderer))
        return complain("--html %s: what draws the page is not in " CLI_PYTHON_FROM_BIN "/pages, relative to "
                        "the folder of this command; install it, or take --json",
                        path);
    return 0;
}

int render_try(const char *path) {
    char renderer[PATH_MAX];
    int failed = find_renderer(path, renderer);
    return failed ? failed : page_file_try("--html", path);
}

int render_begin(struct render *r, const char *path) {
    int failed = find_renderer(path, r->renderer);
    if (!failed)
        failed = page_file_open(&r->file, "--html", path);
    if (failed)
        return failed;
    int fd = memfd_create("json", MFD_CLOEXEC);
    r->json = fd < 0 ? NULL : fdopen(fd, "w+");
    if (r->json)
        return 0;
    int error = errno;
    page_file_close(&r->file, false);
    return complain("--html %s: %s", path, strerror(error));
}

/* The renderer has no environment: it may have variables for the observed program (LD_PRELOAD).  0 or an
 * errno; ECHILD: it has failed, and said why. */
static int draw(const struct render *r, int out) {
    static char *const no_environment[] = {NULL};
    const char *const words[] = {PYTHON, PYTHON_ALONE, "-S", "-X", "utf8", r->renderer, NULL};
    posix_spawn_file_actions_t files;
    pid_t child;
    int status;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(r->json), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide how it ends */
    int error = posix_spawn(&child, PYTHON, &files, NULL, (char *const *)(const void *)words, no_environment);
    posix_spawn_file_actions_destroy(&files);
    if (error)
        return error;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return status == 0 ? 0 : ECHILD;
}

static int copy(int from, FILE *to) {
    char part[65536];
    ssize_t n = 0;
    if (lseek(from, 0, SEEK_SET) != 0)
        return errno;
    while ((n = read(from, part, sizeof(part))) > 0)
        fwrite(part, 1, (size_t)n, to); /* page_file_close() and finish_output() see an error */
    return n < 0 ? errno : 0;
}

static int make_page(struct render *r) {
    if (fflush(r->json) != 0 || lseek(fileno(r->json), 0, SEEK_SET) != 0)
        return errno;
    CLOSED_FD out = memfd_create("page", MFD_CLOEXEC);
    if (out < 0)
        return errno;
    int error = draw(r, out);
    return error ? error : copy(out, r->file.out);
}

int render_end(struct render *r, bool keep) {
    int error = keep ? make_page(r) : 0, failed = 0;
    if (error)
        failed = complain("--html %s: %s", r->file.path,
                          error == ECHILD ? "the page could not be drawn" : strerror(error));
    fclose(r->json);
    int closed = page_file_close(&r->file, keep && !failed);
    return failed ? failed : closed;
}
