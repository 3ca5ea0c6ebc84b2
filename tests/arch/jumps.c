/* SPDX-License-Identifier: MIT
 *
 * vfork and syscall(2), which the library wraps in assembly: their results, arguments and errors, and the
 * callers' frames.  Prints "as bare", or the differences.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../harness/raw.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: not so: %s (%s)\n", __LINE__, #condition, strerror(errno)); \
            return 1; \
        } \
    } while (0)

static __attribute__((noinline)) int child_of_vfork(int code) {
    volatile int kept = code;
    pid_t child = vfork();
    int status;
    if (child == 0)
        _exit(kept);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || kept != code)
        return -1;
    return WEXITSTATUS(status);
}

static int forwards(void) {
    char text[8] = "";
    int ends[2];
    CHECK(syscall(SYS_getpid) == getpid());
    CHECK(syscall(100000) == -1 && errno == ENOSYS);
    CHECK(pipe(ends) == 0);
    struct iovec part = {"abc", 3};
    CHECK(syscall(SYS_write, ends[1], "de", 2L) == 2);
    CHECK(syscall(SYS_writev, ends[1], &part, 1L) == 3);
    CHECK(syscall(SYS_read, ends[0], text, 8L) == 5 && strcmp(text, "deabc") == 0);
    CHECK(syscall(SYS_read, -1, text, 8L) == -1 && errno == EBADF);
    /* six arguments, by the way of the numbers that are not ours */
    int file = memfd_create("file", 0);
    CHECK(file >= 0 && ftruncate(file, 8192) == 0 && pwrite(file, "second", 6, 4096) == 6);
#ifdef SYS_mmap2
    char *page = (char *)syscall(SYS_mmap2, NULL, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)file, 1L);
#elif defined(__s390x__)
    char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 4096); /* its own call takes a structure */
#else
    char *page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)PROT_READ, (long)MAP_SHARED, (long)file, 4096L);
#endif
    CHECK(page != MAP_FAILED && strcmp(page, "second") == 0);
    /* a wait, and six arguments of one that is ours */
    struct timespec soon = {0, 1000};
    CHECK(syscall(SYS_ppoll, NULL, 0L, &soon, NULL, 8L) == 0);
    CHECK(syscall(SYS_sendto, ends[1], "x", 1L, 0L, NULL, 0L) == -1 && errno == ENOTSOCK);
    return 0;
}

static int forks(void) {
    int status;
#ifdef __s390x__ /* the stack comes first */
    pid_t child = (pid_t)syscall(SYS_clone, 0L, 17L, 0L, 0L, 0L);
#else
    pid_t child = (pid_t)syscall(SYS_clone, 17L, 0L, 0L, 0L, 0L);
#endif
    if (child == 0)
        _exit(9);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
    return 0;
}

/* A connection, and its other end, which the library does not see. */
static int connected(int *peer) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    CHECK(connect(fd, (struct sockaddr *)&address, length) == 0);
    *peer = (int)raw4(SYS_accept4, listener, 0, 0, 0);
    return fd;
}

/* How many bytes have arrived at the peer, after a while. */
static long arrived(int peer) {
    char bytes[8];
    struct timespec while_ = {.tv_nsec = 50000000};
    raw4(SYS_ppoll, NULL, 0, &while_, NULL);
    return raw6(SYS_recvfrom, peer, (long)bytes, sizeof(bytes), MSG_DONTWAIT, 0, 0);
}

/* After a child on our memory the library holds nothing any more: it has read the flags of the call.  On
 * s390x it took the stack for them.  The child touches no stack, because that is ours. */
static int shares_memory(void) {
    const long flags = CLONE_VM | CLONE_VFORK | 17;
    int status, peer = -1, fd = connected(&peer), nagle = 0;
    CHECK(fd > 1 && peer >= 0);
    CHECK(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &nagle, sizeof(nagle)) == 0);
#ifdef __s390x__
    pid_t child = (pid_t)syscall(SYS_clone, 0L, flags, 0L, 0L, 0L);
#else
    pid_t child = (pid_t)syscall(SYS_clone, flags, 0L, 0L, 0L, 0L);
#endif
    if (child == 0) /* it has our stack: a call of a function would overwrite where we return to */
#ifdef __i386__
        __asm__ volatile("int $0x80" : : "a"(SYS_exit_group), "b"(9));
#else
        raw6(SYS_exit_group, 9, 0, 0, 0, 0, 0);
#endif
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
    CHECK(write(fd, "a", 1) == 1 && arrived(peer) == 1);
    return 0;
}

int main(int argc, char **argv) {
    Dl_info of_vfork, of_syscall;
    (void)argv;
    for (int i = 1; i < 50; i++)
        CHECK(child_of_vfork(i) == i);
    if (forwards() != 0 || forks() != 0 || shares_memory() != 0)
        return 1;
    if (argc > 1) { /* loaded */
        CHECK(dladdr(dlsym(RTLD_DEFAULT, "vfork"), &of_vfork) && strstr(of_vfork.dli_fname, "libunstall"));
        CHECK(dladdr(dlsym(RTLD_DEFAULT, "syscall"), &of_syscall) &&
              strstr(of_syscall.dli_fname, "libunstall"));
    }
    puts("as bare");
    return 0;
}
