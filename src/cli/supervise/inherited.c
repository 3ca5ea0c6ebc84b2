/* SPDX-License-Identifier: MIT */
#include "inherited.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

void inherited_cure(void) {
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int on = 1;
    while (folder && (entry = readdir(folder)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10), protocol = 0;
        socklen_t size = sizeof(protocol);
        if (entry->d_name[0] != '.' &&
            getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
            protocol == IPPROTO_TCP)
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    if (folder)
        closedir(folder);
}
