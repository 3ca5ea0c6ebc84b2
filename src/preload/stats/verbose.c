/* SPDX-License-Identifier: MIT */
#include "verbose.h"

#include <arpa/inet.h>
#include <sys/syscall.h>

#include "address.h"
#include "kernel.h"
#include "log.h"
#include "raw.h"

void verbose_start(void) {
    const struct config *now = config();
    if (!verbose(1))
        return;
    log_line("%s[%d]: mode %s, window %d us, small %d bytes", now->program, raw0(SYS_getpid),
             mode_names[now->mode], (long)now->window_us, (long)now->small);
}

void verbose_late_push(int fd, size_t bytes, bool first) {
    if (!verbose(first ? 1 : 2) || config()->no_syscalls)
        return;
    struct sockaddr_storage peer = {0};
    struct stats_address far = {0};
    char address[INET6_ADDRSTRLEN] = "?";
    if (kernel->name(fd, true, &peer) == 0 && address_of(&peer, &far))
        inet_ntop(far.family, far.address, address, sizeof(address));
    log_line("descriptor %d to %s port %d: a second small write (%d bytes) in one message, "
             "with Nagle in force: TCP_NODELAY set",
             (long)fd, address, (long)far.port, (long)bytes);
}
