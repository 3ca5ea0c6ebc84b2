/* SPDX-License-Identifier: MIT
 *
 * Begins an attachment, or says why it cannot be.
 */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "capability.h"
#include "errors.h"
#include "pins.h"
#include "programs.h"

enum { KERNEL_LEAST = 601, KERNEL_EXPERIMENT = 603, KERNEL_PROOF = 610 }; /* major * 100 + minor */

/* ---- may it be loaded? ---------------------------------------------------------------- */

static int kernel_version(void) {
    struct utsname name;
    char *behind = NULL;
    if (uname(&name) != 0)
        return 0;
    long major = strtol(name.release, &behind, 10);
    long minor = *behind == '.' ? strtol(behind + 1, NULL, 10) : 0;
    return (int)(major * 100 + minor);
}

#define BPF_FS "/sys/fs/bpf"

/* Mounts a BPF file system where none is, as in a container; it stays.  NULL, or why it cannot. */
static const char *ensure_file_system(void) {
    static char why[256];
    struct statfs fs;
    if (statfs(BPF_FS, &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
        return NULL;
    if ((mkdir(BPF_FS, 0755) == 0 || errno == EEXIST) &&
        mount("bpf", BPF_FS, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") == 0) {
        remark("no BPF file system was at " BPF_FS ", so one is mounted there now");
        return NULL;
    }
    snprintf(why, sizeof(why),
             "no BPF file system is at " BPF_FS ", and none can be mounted here (%s); give a container that "
             "of its host: docker run -v " BPF_FS ":" BPF_FS,
             strerror(errno));
    return why;
}

const char *attach_obstacle(void) {
    if (!has_capability(CAP_SYS_ADMIN) &&
        !(has_capability(CAP_BPF) && has_capability(CAP_PERFMON) && has_capability(CAP_NET_ADMIN)))
        return capability_lack("CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN");
    if (kernel_version() < KERNEL_LEAST)
        return "the kernel is older than Linux 6.1, and its programs cannot set TCP_NODELAY";
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return "the kernel does not describe its types (/sys/kernel/btf/vmlinux, "
               "CONFIG_DEBUG_INFO_BTF)";
    return ensure_file_system();
}

static struct attach_config config_of(const struct attach_target *t,
                                      const struct attach_options *o) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct attach_config c = {
        .version = ATTACH_VERSION,
        .mode = (__u32)o->mode,
        .by_process = t->pid != 0,
        .cgroup = t->cgroup,
        .whole_host = t->whole_host,
        .port = t->port,
        .quickack = o->quickack,
        .experiment = o->experiment,
        .began_ns = (__u64)now.tv_sec * 1000000000 + (__u64)now.tv_nsec,
        .pid = t->pid,
        .pid_start = t->pid ? attach_start_of(t->pid) : 0,
        .loader = o->detached ? 0 : getpid(),
        .loader_start = o->detached ? 0 : attach_start_of(getpid()),
    };
    if (o->mode < 0)
        c.mode = kernel_version() >= KERNEL_PROOF ? ATTACH_PROOF : ATTACH_ALWAYS;
    memcpy(c.target, t->text, sizeof(c.target));
    memcpy(c.path, t->path, sizeof(c.path));
    return c;
}

/* ---- attachments that share connections ---------------------------------------------------- */

/* Two that cure may: a connection is cured while either of them is there.  An experiment may not, because
 * another attachment would act in every arm. */

/* A cgroup is below itself too. */
static bool is_below(const char *path, const char *above) {
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (path[length] == '/' || !path[length]);
}

/* True if both may have the same connection. */
static bool share_connections(const struct attach_config *a, const struct attach_config *b) {
    if (a->port && b->port && a->port != b->port)
        return false;
    if (a->pid && b->pid)
        return a->pid == b->pid && a->pid_start == b->pid_start;
    return (!b->pid && is_below(a->path, b->path)) || (!a->pid && is_below(b->path, a->path));
}

static bool disturbs(const char *name, const struct attach_config *c, const struct attach_state *s) {
    const struct attach_config *other = &s->config;
    if (!s->known || strcmp(s->name, name) == 0 || !(c->experiment.arms || other->experiment.arms))
        return false;
    if (other->pid && attach_start_of(other->pid) != other->pid_start)
        return false; /* the process has ended */
    return share_connections(c, other);
}

/* Called under the lock of the pins.  -EBUSY with a sentence if this one, which is about to begin, and one
 * that exists share connections, and one of them is an experiment. */
static int refuse_overlap(const char *name, const struct attach_config *c, char error[ATTACH_ERROR]) {
    struct attach_state *list = NULL;
    size_t count = 0;
    int failed = attach_list(&list, &count, error);
    for (size_t i = 0; i < count && !failed; i++)
        if (disturbs(name, c, &list[i])) {
            snprintf(error, ATTACH_ERROR,
                     "%s: shares connections with %s (%s), and an experiment shares none; "
                     "`unstall detach %s` ends that",
                     c->target, list[i].config.target,
                     list[i].config.experiment.arms ? "an experiment" : "attached", list[i].name);
            failed = -EBUSY;
        }
    free(list);
    return failed;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Makes its folder, and the pin that shows its target to other attachments, while no other attachment begins.
 * *made: the folder is ours.  An error may have a sentence. */
static int reserve(const struct attach_bpf *b, const struct attach_target *t,
                   const struct attach_config *c, bool *made, char error[ATTACH_ERROR]) {
    char path[PIN_PATH];
    attach_pin_path(t->name, PIN_FOLDER, path);
    int lock = pins_lock(error);
    if (lock < 0)
        return lock;
    error[0] = '\0'; /* it may have waited for a folder that was removed */
    int failed = refuse_overlap(t->name, c, error);
    if (!failed)
        failed = mkdir(path, 0700) == 0 ? 0 : -errno;
    if (failed == -EEXIST)
        snprintf(error, ATTACH_ERROR, "%s: attached already; `unstall attach --list` shows it",
                 t->text);
    *made = !failed;
    if (*made)
        failed = programs_pin_config(b, t->name);
    pins_unlock(lock);
    return failed;
}

static int explain(int failed, const struct attach_target *t, bool verbose,
                   char error[ATTACH_ERROR]) {
    if (t->pid && attach_start_of(t->pid) == 0)
        snprintf(error, ATTACH_ERROR, "%d: the process has ended meanwhile", (int)t->pid);
    else if (failed == -ESRCH) /* libbpf found no such function in the kernel's types */
        snprintf(error, ATTACH_ERROR,
                 "the kernel has no iterator over TCP sockets (bpf_iter_tcp)%s; nothing is changed",
                 verbose ? "" : "; --verbose 2 shows more");
    else if (failed == -ENOENT)
        snprintf(error, ATTACH_ERROR, "%s: the cgroup was removed meanwhile", t->path);
    else
        snprintf(error, ATTACH_ERROR, "the kernel refuses it (%s)%s; nothing is changed",
                 strerror(-failed), verbose ? "" : "; --verbose 2 shows its reasons");
    return failed;
}

int attach_begin(const struct attach_target *t, const struct attach_options *o,
                 char error[ATTACH_ERROR]) {
    const char *why = attach_obstacle();
    if (why) {
        snprintf(error, ATTACH_ERROR, "%s", why);
        return -EPERM;
    }
    bool verbose = o->verbose >= 2;
    programs_show_log(verbose);
    struct attach_config c = config_of(t, o);
    if (c.mode != ATTACH_ALWAYS && kernel_version() < KERNEL_PROOF) {
        snprintf(error, ATTACH_ERROR, "mode proof needs Linux 6.10; mode always needs Linux 6.1");
        return -ENOSYS;
    }
    if (c.experiment.arms && kernel_version() < KERNEL_EXPERIMENT) {
        snprintf(error, ATTACH_ERROR, "an experiment in the kernel needs Linux 6.3");
        return -ENOSYS;
    }
    struct attach_bpf *b = NULL;
    char ignored[ATTACH_ERROR];
    struct prose missed = {.used = 0};
    bool made = false; /* else a folder of this name is another command's */
    error[0] = '\0';
    int failed = programs_load(&b, &c);
    if (!failed)
        failed = reserve(b, t, &c, &made, error);
    if (!failed)
        failed = programs_begin(b, t, c.experiment.arms != 0, &missed);
    programs_free(b);
    if (failed < 0 && made)
        attach_end(t->name, ignored);
    if (failed < 0)
        return error[0] ? failed : explain(failed, t, verbose, error);
    if (missed.used)
        snprintf(error, ATTACH_ERROR,
                 "%s: connections that exist there are left alone; to reach them too, attach with "
                 "CAP_SYS_ADMIN and CAP_SYS_PTRACE, as root has them",
                 missed.text);
    return 0;
}
