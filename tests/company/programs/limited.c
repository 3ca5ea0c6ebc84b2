/* SPDX-License-Identifier: MIT
 *
 * Nothing more to be had of one kind: descriptors, threads, memory, files (the root is then the working
 * folder, which must be empty).
 */
#include "confined.h"
#include <grp.h>

static void limit(int what, rlim_t value) {
    struct rlimit both = {value, value};
    CHECK(setrlimit((__rlimit_resource_t)what, &both) == 0);
}

static void no_descriptors(void) {
    int next = open("/dev/null", O_RDONLY);
    CHECK(next >= 0 && close(next) == 0);
    limit(RLIMIT_NOFILE, (rlim_t)next);
    CHECK(socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EMFILE);
}

static void *nothing(void *unused) {
    return unused;
}

/* The limit does not bind root. */
static void no_threads(void) {
    if (geteuid() == 0) CHECK(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                              setresuid(65534, 65534, 65534) == 0);
    limit(RLIMIT_NPROC, 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == EAGAIN);
}

static void no_memory(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    limit(RLIMIT_AS, pages * (rlim_t)sysconf(_SC_PAGESIZE));
}

static void no_files(void) {
    if (geteuid() != 0) CHECK(unshare(CLONE_NEWUSER) == 0);
    CHECK(chroot(".") == 0);
    CHECK(access("/proc", F_OK) == -1 && errno == ENOENT);
}

int main(int argc, char **argv) {
    static const struct confinement known[] = {
        {"descriptors", no_descriptors}, {"threads", no_threads}, {"memory", no_memory}, {"files", no_files},
    };
    return confined_main(argc, argv, known, sizeof known / sizeof known[0]);
}
