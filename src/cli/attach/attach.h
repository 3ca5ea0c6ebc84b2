/* SPDX-License-Identifier: MIT
 *
 * An attachment: BPF programs on a cgroup, and their changes.
 *
 * Everything is pinned in a folder below ATTACH_FOLDER and belongs to the kernel, not to this process:
 * attach_begin() keeps no descriptor.  So attach_end() works the same for the command in the
 * foreground, for `unstall detach`, and after a SIGKILL.
 */
#ifndef UNSTALL_ATTACH_H
#define UNSTALL_ATTACH_H

#include "target.h"

#define ATTACH_FOLDER "/sys/fs/bpf/unstall"

struct attach_options {
    int mode; /* ATTACH_PROOF, ATTACH_ALWAYS, or -1: the best that the kernel can */
    bool detached;
    bool quickack;
    int verbose;
    struct attach_experiment experiment; /* .arms 0: it is none */
};

/* An existing attachment.  If another version of the command made it, only `name` is set. */
struct attach_state {
    char name[ATTACH_NAME];
    bool known;
    struct attach_config config;
};

/* 0, or -errno with a sentence; then nothing is changed or pinned.  After a 0, `error` may have a remark on
 * connections that were not reached. */
int attach_begin(const struct attach_target *t, const struct attach_options *o,
                 char error[ATTACH_ERROR]);

/* Restores the options of all sockets and removes the pins.  -ENOENT: there is no attachment of this name. */
int attach_end(const char *name, char error[ATTACH_ERROR]);

/* True if the attachment exists. */
bool attach_is_there(const char *name);
int attach_look(const char *name, struct attach_state *s);

/* All attachments; free(*list).  0 or -errno with a sentence. */
int attach_list(struct attach_state **list, size_t *count, char error[ATTACH_ERROR]);

/* NULL if the caller may load BPF programs here, else the obstacle.  A missing BPF file system is mounted. */
const char *attach_obstacle(void);

#endif
