/* SPDX-License-Identifier: MIT */
#include "same_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_of(const char *task, const char *name) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/%s", task, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool same_namespace(const char *task, const char *name) {
    char path[64], own[64];
    struct stat theirs, ours;
    snprintf(path, sizeof(path), "/proc/%s/ns/%s", task, name);
    snprintf(own, sizeof(own), "/proc/self/ns/%s", name);
    return stat(path, &theirs) == 0 && stat(own, &ours) == 0 && theirs.st_ino == ours.st_ino &&
           theirs.st_dev == ours.st_dev;
}

enum { TEXT = 4096 };

static ssize_t text_of(const char *task, const char *name, char text[TEXT]) {
    int file = open_of(task, name);
    if (file < 0)
        return -1;
    ssize_t n = read(file, text, TEXT - 1);
    close(file);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

static bool same_text(const char *task, const char *name) {
    char theirs[TEXT], ours[TEXT];
    return text_of(task, name, theirs) == text_of("self", name, ours) && strcmp(theirs, ours) == 0;
}

/* The lines "Uid:" and "Gid:" of status, with all four ids each. */
static const char *ids_of(const char *task, char text[TEXT], size_t *length) {
    if (text_of(task, "status", text) <= 0)
        return NULL;
    char *from = strstr(text, "\nUid:"), *to = from ? strstr(from, "\nGid:") : NULL;
    to = to ? strchr(to + 1, '\n') : NULL;
    if (!to)
        return NULL;
    *length = (size_t)(to - from);
    return from;
}

static bool same_user(const char *task) {
    char theirs[TEXT], ours[TEXT];
    size_t length = 0, own = 0;
    const char *a = ids_of(task, theirs, &length), *b = ids_of("self", ours, &own);
    return a && b && length == own && memcmp(a, b, length) == 0;
}

bool same_place(pid_t task) {
    char name[16];
    snprintf(name, sizeof(name), "%d", (int)task);
    return same_namespace(name, "net") && same_namespace(name, "user") && same_user(name) &&
           same_text(name, "cgroup") && same_text(name, "attr/current");
}
