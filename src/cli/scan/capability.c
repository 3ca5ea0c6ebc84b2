/* SPDX-License-Identifier: MIT */
#include "capability.h"

#include <sys/syscall.h>
#include <unistd.h>

bool has_capability(unsigned which) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    return data[which / 32].effective >> which % 32 & 1;
}
