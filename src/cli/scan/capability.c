/* SPDX-License-Identifier: MIT */
#include "capability.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The inode of the host's user namespace is the same in every kernel (PROC_USER_INIT_INO). */
static bool in_host_namespace(void) {
    const ino_t host = 0xEFFFFFFD;
    struct stat st;
    return stat("/proc/self/ns/user", &st) != 0 || st.st_ino == host;
}

bool has_capability(unsigned which) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0 || !in_host_namespace())
        return false;
    return data[which / 32].effective >> which % 32 & 1;
}

const char *capability_lack(const char *names) {
    static char text[256];
    snprintf(text, sizeof(text),
             in_host_namespace() ? "it needs %s, for instance as root"
                                 : "it needs %s of the host, and a user namespace, as that of a rootless "
                                   "container, gives none of them",
             names);
    return text;
}
