/* SPDX-License-Identifier: MIT */
#include "process_stat.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"

/* The name may have any character; the last ')' ends it. */
bool process_stat(pid_t pid, struct process_stat *s) {
    enum { PARENT = 4, SESSION = 6, START = 22 };
    char path[64], line[1024] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    const char *name = f && fgets(line, sizeof(line), f) ? strchr(line, '(') : NULL;
    const char *at = name ? strrchr(name, ')') : NULL;
    if (f)
        fclose(f);
    *s = (struct process_stat){.parent = 0};
    if (at)
        snprintf(s->name, sizeof(s->name), "%.*s", (int)(at - name - 1), name + 1);
    int field = 3;
    for (; field <= START && at && (at = strchr(at + 1, ' ')) != NULL; field++)
        if (field == PARENT)
            s->parent = (pid_t)strtol(at, NULL, 10);
        else if (field == SESSION)
            s->session = (pid_t)strtol(at, NULL, 10);
        else if (field == START)
            s->start = strtoull(at, NULL, 10);
    return field > START;
}

uint64_t process_began_ns(uint64_t start) {
    double seconds = (double)start / (double)sysconf(_SC_CLK_TCK);
    return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + (uint64_t)(seconds * 1e9);
}

pid_t process_of_folder(const char *name) {
    char *end;
    long number = name[0] >= '1' && name[0] <= '9' ? strtol(name, &end, 10) : 0;
    return number > 0 && number <= INT_MAX && *end == '\0' ? (pid_t)number : 0;
}

pid_t process_next(DIR *proc) {
    pid_t pid = 0;
    for (const struct dirent *e; proc && !pid && (e = readdir(proc));)
        pid = process_of_folder(e->d_name);
    return pid;
}
