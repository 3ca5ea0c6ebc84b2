/* SPDX-License-Identifier: MIT */
#include "filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

enum { SOCK_TYPE_MASK = 0xf };

/* The argument is an int: the upper half of its register may be anything. */
#define IS_INT(number, value) SCMP_CMP64(number, SCMP_CMP_MASKED_EQ, 0xffffffff, value)

static int add_rules(scmp_filter_ctx filter) {
    static const int always[] = {SCMP_SYS(connect), SCMP_SYS(listen), SCMP_SYS(io_uring_setup)};
    static const unsigned families[] = {AF_INET, AF_INET6};
    int error = 0;
    for (unsigned i = 0; !error && i < sizeof(always) / sizeof(always[0]); i++)
        error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, always[i], 0);
    for (unsigned i = 0; !error && i < sizeof(families) / sizeof(families[0]); i++)
        error =
            seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(socket), 2, IS_INT(0, families[i]),
                             SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, SOCK_TYPE_MASK, SOCK_STREAM));
    if (!error)
        error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(setsockopt), 2,
                                 IS_INT(1, IPPROTO_TCP), IS_INT(2, TCP_NODELAY));
    return error;
}

/* Calls of another architecture (32-bit x86, x32) are allowed as they are. */
static int write_program(int file) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    int error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
    if (!error)
        error = add_rules(filter);
    if (!error)
        error = seccomp_export_bpf(filter, file);
    seccomp_release(filter);
    return error;
}

/* With WAIT_KILLABLE_RECV a signal does not interrupt a call that the supervisor is about to answer.
 * seccomp_load(3) of libseccomp 2.5 lacks this flag, so the filter is loaded without it. */
static int load(const struct sock_fprog *program) {
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, program);
    if (listener < 0 && errno == EINVAL)
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return listener < 0 ? -errno : (int)listener;
}

int filter_install(void) {
    struct sock_filter code[256];
    int file = memfd_create("unstall-filter", MFD_CLOEXEC);
    if (file < 0)
        return -errno;
    int result = write_program(file);
    ssize_t size = result ? 0 : pread(file, code, sizeof(code), 0);
    close(file);
    if (result)
        return result;
    if (size <= 0 || size == sizeof(code) || size % (ssize_t)sizeof(code[0]))
        return -E2BIG;
    struct sock_fprog program = {(unsigned short)((size_t)size / sizeof(code[0])), code};
    return load(&program);
}
