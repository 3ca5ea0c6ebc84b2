/* SPDX-License-Identifier: MIT */
#include "owners.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "process_stat.h"

static int order(const void *a, const void *b) {
    const struct scan_owner *x = a, *y = b;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

struct scan_owner *scan_owner_find(struct scan_owner *owners, size_t count, uint64_t inode) {
    const struct scan_owner wanted = {.inode = inode};
    return count && inode ? bsearch(&wanted, owners, count, sizeof(*owners), order) : NULL;
}

/* Looks at the descriptors of one process.  Returns how many of the sockets it has.  A socket that
 * several processes share goes to the first of them. */
static size_t look_at(pid_t pid, struct scan_owner *owners, size_t count, size_t *left) {
    size_t found = 0;
    struct scan_process process = {.pid = 0}; /* read once, however many sockets it has */
    CLOSED_FOLDER *entries = process_folder(pid, "fd");
    for (const struct dirent *e; entries && *left && (e = readdir(entries));) {
        --*left;
        uint64_t inode = process_socket(dirfd(entries), e->d_name);
        struct scan_owner *owner = scan_owner_find(owners, count, inode);
        if (owner && owner->process.pid == 0) {
            if (found++ == 0)
                scan_process_of(pid, &process);
            owner->process = process;
        }
    }
    return found;
}

void scan_owners_sort(struct scan_owner *owners, size_t count) {
    if (count)
        qsort(owners, count, sizeof(*owners), order);
}

/* The walk costs 2 us for each descriptor of each process, so it ends when all sockets are found.  A
 * socket that an earlier walk did not find has lost its process; it does not prolong this walk. */
bool scan_owners_find(struct scan_owner *owners, size_t count, size_t *left) {
    CLOSED_FOLDER *proc = count ? opendir("/proc") : NULL;
    size_t missing = 0;
    if (!proc)
        return true;
    scan_owners_sort(owners, count);
    for (size_t i = 0; i < count; i++)
        missing += owners[i].process.pid == 0 && !owners[i].sought;
    for (pid_t pid; missing && *left && (pid = process_next(proc)) != 0;) {
        size_t found = look_at(pid, owners, count, left);
        missing -= found < missing ? found : missing;
    }
    bool complete = *left > 0;
    for (size_t i = 0; complete && i < count; i++)
        owners[i].sought = true;
    return complete;
}

const struct scan_process *scan_owner_of(struct scan_owner *owners, size_t count, uint64_t inode) {
    const struct scan_owner *found = scan_owner_find(owners, count, inode);
    return found && found->process.pid ? &found->process : NULL;
}

/* The inode of the first namespace is fixed (PROC_PID_INIT_INO of the kernel). */
bool scan_pids_are_the_hosts(void) {
    const ino_t first = 0xEFFFFFFC;
    struct stat st;
    return stat("/proc/self/ns/pid", &st) != 0 || st.st_ino == first;
}

/* Beside version 2 there may be a line with such a path for each of 12 controllers, and the line of version 2
 * is the last. */
static void read_cgroup(struct scan_process *p) {
    char text[14 * SCAN_CGROUP];
    process_text(p->pid, "cgroup", text, sizeof(text));
    scan_cgroup_path(text, p->cgroup);
    scan_cgroup_unit(p->cgroup, p->unit);
    scan_cgroup_container(p->cgroup, p->container);
}

void scan_process_of(pid_t pid, struct scan_process *p) {
    char path[PATH_MAX];
    *p = (struct scan_process){.pid = pid};
    if (pid == 0)
        return;
    if (process_program(pid, path, sizeof(path))[0])
        snprintf(p->program, sizeof(p->program), "%.63s",
                 strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    else if (process_text(pid, "comm", p->program, sizeof(p->program)))
        p->program[strcspn(p->program, "\n")] = '\0';
    size_t length = process_text(pid, "cmdline", p->command, sizeof(p->command));
    for (size_t i = 0; i + 1 < length; i++)
        if (p->command[i] == '\0')
            p->command[i] = ' ';
    read_cgroup(p);
}
