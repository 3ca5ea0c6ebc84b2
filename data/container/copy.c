/* SPDX-License-Identifier: MIT
 *
 * copy FOLDER: the program of the container image.  It puts the library of the image into a folder that other
 * containers share (an init container of Kubernetes, a volume).  Static, because the image has no libc.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "libunstall.so"
#define DRAFT "." NAME ".new"

static int fails(const char *what) {
    dprintf(STDERR_FILENO, "copy: %s: %s\n", what, strerror(errno));
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        dprintf(STDERR_FILENO, "Usage: copy FOLDER\nPuts /" NAME " into the folder.\n");
        return 2;
    }
    int from = open("/" NAME, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return fails("/" NAME);
    int folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return fails(argv[1]);
    /* Under another name first: a program that starts meanwhile finds the whole library or none. */
    int to = openat(folder, DRAFT, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (to < 0)
        return fails(argv[1]);
    for (;;) {
        ssize_t copied = sendfile(to, from, NULL, 1 << 20);
        if (copied == 0)
            break;
        if (copied < 0) {
            int error = errno;
            unlinkat(folder, DRAFT, 0);
            errno = error;
            return fails(argv[1]);
        }
    }
    if (fchmod(to, 0644) != 0 || close(to) != 0 || renameat(folder, DRAFT, folder, NAME) != 0)
        return fails(argv[1]);
    return 0;
}
