/* SPDX-License-Identifier: MIT */
#include "verbose.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kernel.h"
#include "log.h"
#include "raw.h"

void verbose_start(void) {
    const struct config *now = config();
    if (!verbose(1))
        return;
    TEXT(line, 512);
    text_add(&line, now->program);
    text_add(&line, "[");
    text_number(&line, raw0(SYS_getpid));
    text_add(&line, "]: mode ");
    text_add(&line, mode_names[now->mode]);
    text_add(&line, ", window ");
    text_number(&line, now->window_us);
    text_add(&line, " us, small ");
    text_number(&line, now->small);
    text_add(&line, " bytes");
    log_line(&line);
}

static void add_peer(struct text *t, int fd) {
    struct sockaddr_storage peer = {0};
    char address[INET6_ADDRSTRLEN] = "?";
    uint16_t port = 0;
    if (kernel->name(fd, true, &peer) == 0) {
        if (peer.ss_family == AF_INET6) {
            const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&peer;
            inet_ntop(AF_INET6, &in6->sin6_addr, address, sizeof(address));
            port = ntohs(in6->sin6_port);
        } else {
            const struct sockaddr_in *in = (const struct sockaddr_in *)&peer;
            inet_ntop(AF_INET, &in->sin_addr, address, sizeof(address));
            port = ntohs(in->sin_port);
        }
    }
    text_add(t, address);
    text_add(t, " port ");
    text_number(t, port);
}

void verbose_late_push(int fd, size_t bytes, bool first) {
    if (!verbose(first ? 1 : 2) || config()->no_syscalls)
        return;
    TEXT(line, 512);
    text_add(&line, "descriptor ");
    text_number(&line, fd);
    text_add(&line, " to ");
    add_peer(&line, fd);
    text_add(&line, ": a second small write (");
    text_number(&line, (int64_t)bytes);
    text_add(&line, " bytes) in one message, with Nagle in force: TCP_NODELAY set");
    log_line(&line);
}
