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

#include <signal.h>

#include "target.h"

#define ATTACH_FOLDER "/sys/fs/bpf/unstall"

struct attach_options {
    int mode; /* ATTACH_PROOF, ATTACH_ALWAYS, or -1: the best that the kernel can */
    bool detached;
    bool quickack;
    int verbose;
    struct attach_experiment experiment; /* .arms 0: it is none */
};

/* An attachment.  `there`: it exists.  `known`: this version of the command made it, and `config` is set. */
struct attach_state {
    char name[ATTACH_NAME];
    bool there, known;
    struct attach_config config;
};

/* 0, or -errno with a sentence; then nothing is changed or pinned.  After a 0, `error` may have a remark on
 * connections that were not reached. */
int attach_begin(const struct attach_target *t, const struct attach_options *o,
                 char error[ATTACH_ERROR]);

/* Restores the options of all sockets and removes the pins.  -ENOENT: there is no attachment of this name. */
int attach_end(const char *name, char error[ATTACH_ERROR]);

void attach_look(const char *name, struct attach_state *s);

/* All attachments; free(*list).  0 or -errno with a sentence. */
int attach_list(struct attach_state **list, size_t *count, char error[ATTACH_ERROR]);

/* NULL if the caller may load BPF programs here, else the obstacle.  A missing BPF file system is mounted. */
const char *attach_obstacle(void);

/* The measurements of an attachment that is an experiment. */
struct experiment {
    int config, connections, arms; /* descriptors of the maps, which live as long as we hold them */
    __u64 looked_ns;               /* when the connections were looked at last */
};

/* Of the attachment with this name.  0 or -errno. */
int experiment_open(struct experiment *e, const char *name);

/* Prints what is new, as a line of JSON.  False: nobody reads it any more, or for five seconds after `stop`
 * was set. */
bool experiment_tell(struct experiment *e, const volatile sig_atomic_t *stop);
void experiment_close(struct experiment *e);

#endif
