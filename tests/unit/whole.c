/* SPDX-License-Identifier: MIT */
#include "whole.h"

#include <errno.h>
#include <netinet/in.h>

#include "config.h"
#include "readable.h"
#include "window.h"

void whole_start(const char *const *settings) {
    fake_kernel_install();
    config_load((char **)(uintptr_t)settings, "prog");
    gate_enter(); /* looks up all that is next in line */
    fake_real_install();
    readable_known.stack_end = 0; /* a test plays the handler in the frame that it has "interrupted" */
    window_now = WINDOW_RUNS;
    fake.room = 400000;
    fake.peer_port = 80;
    fake.local_port = 5000;
    fake_log();
}

void whole_start_in(enum mode mode) {
    TEXT(setting, 64);
    text_add(&setting, "UNSTALL_MODE=");
    text_add(&setting, mode_names[mode]);
    whole_start((const char *const[]){setting.at, NULL});
    if (mode == MODE_COALESCE)
        fake_clock_stands(); /* a send asks for the socket once the clock has moved */
}

struct conn *whole_connected(int fd) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(80)};
    shim_socket_made(fd, AF_INET, SOCK_STREAM, 0);
    struct call call = shim_connect_begins(fd);
    shim_connect_ended(call, 0, (struct sockaddr *)&to, sizeof(to));
    fake_log();
    return call.conn;
}

struct conn *whole_warm(int fd) {
    struct conn *c = whole_connected(fd);
    for (int i = 0; i < 3; i++) {
        whole_write(fd, "head");
        whole_write(fd, "body");
        whole_read(fd, 100);
    }
    fake_log();
    fake.wire.used = 0;
    fake.wire_buffer[0] = '\0';
    return c;
}

ssize_t whole_write(int fd, const char *bytes) {
    return shim_write_fast(fd, bytes, strlen(bytes), 0, FORM_WRITE, 0);
}

ssize_t whole_send(int fd, const char *bytes, int flags) {
    return shim_write_fast(fd, bytes, strlen(bytes), flags, FORM_SEND, 0);
}

ssize_t whole_write_long(int fd, size_t bytes) {
    static char all[16384];
    ASSERT(bytes < sizeof(all));
    memset(all, 'x', bytes);
    return shim_write_fast(fd, all, bytes, 0, FORM_WRITE, 0);
}

void whole_read(int fd, size_t bytes) {
    struct call call = shim_read_begins(fd, false);
    shim_read_ends(call, (ssize_t)bytes, 8192);
}
