/* SPDX-License-Identifier: MIT
 *
 * Loads the BPF programs, pins them, and runs their iterators over the existing sockets.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "capability.h"
#include "overlap.h"
#include "pins.h"
#include "pins_lock.h"
#include "walk.h"

/* bpftool generates this header; it does not pass our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "attach.skel.h"
#pragma GCC diagnostic pop

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

const char *attach_obstacle(void) {
    struct statfs fs;
    if (!has_capability(CAP_SYS_ADMIN) &&
        !(has_capability(CAP_BPF) && has_capability(CAP_PERFMON) && has_capability(CAP_NET_ADMIN)))
        return "it needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, for instance as root";
    if (kernel_version() < KERNEL_LEAST)
        return "the kernel is older than Linux 6.1, and its programs cannot set TCP_NODELAY";
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return "the kernel does not describe its types (/sys/kernel/btf/vmlinux, "
               "CONFIG_DEBUG_INFO_BTF)";
    if (statfs("/sys/fs/bpf", &fs) != 0 || fs.f_type != BPF_FS_MAGIC)
        return "no BPF file system is at /sys/fs/bpf; mount it: mount -t bpf bpf /sys/fs/bpf";
    return NULL;
}

/* ---- loading ---------------------------------------------------------------------------- */

static bool wants_log;

__attribute__((format(printf, 2, 0))) static int log_line(enum libbpf_print_level level,
                                                          const char *format, va_list arguments) {
    return wants_log && level != LIBBPF_DEBUG ? vfprintf(stderr, format, arguments) : 0;
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
        .own_cgroup = t->own_cgroup,
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

static int load(struct attach_bpf **opened, const struct attach_config *c) {
    __u32 key = 0;
    struct attach_bpf *b = *opened = attach_bpf__open();
    if (!b)
        return -errno;
    if (!c->by_process) {
        bpf_program__set_autoload(b->progs.on_create, false);
        bpf_program__set_autoload(b->progs.mark, false);
    }
    if (!c->experiment.arms) {
        bpf_program__set_autoload(b->progs.after_send, false);
        bpf_program__set_autoload(b->progs.before_receive, false);
        bpf_program__set_autoload(b->progs.after_data, false);
        bpf_program__set_autoload(b->progs.after_state, false);
        bpf_map__set_max_entries(b->maps.connections, 1);
    }
    int failed = attach_bpf__load(b);
    return failed ? failed
                  : bpf_map__update_elem(b->maps.config, &key, sizeof(key), c, sizeof(*c), BPF_ANY);
}

/* Pins a link, which then belongs to the file system alone. */
static int pin_link(struct bpf_link *link, const char *name, const char *pin) {
    char path[PIN_PATH];
    if (!link)
        return -errno;
    attach_pin_path(name, pin, path);
    int failed = bpf_link__pin(link, path);
    bpf_link__destroy(link);
    return failed;
}

static int pin_map(const struct bpf_map *map, const char *name, const char *pin) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    return bpf_obj_pin(bpf_map__fd(map), path) == 0 ? 0 : -errno;
}

/* Attach the measuring programs before any connection gets its arm. */
static int pin_experiment(struct attach_bpf *b, const char *name) {
    int failed = pin_map(b->maps.connections, name, PIN_CONNECTIONS);
    if (!failed)
        failed = pin_map(b->maps.arms, name, PIN_ARMS);
    if (!failed)
        failed = pin_link(bpf_program__attach(b->progs.after_send), name, PIN_SENT);
    if (!failed)
        failed = pin_link(bpf_program__attach(b->progs.before_receive), name, PIN_RECEIVED);
    if (!failed)
        failed = pin_link(bpf_program__attach(b->progs.after_data), name, PIN_DATA);
    if (!failed)
        failed = pin_link(bpf_program__attach(b->progs.after_state), name, PIN_STATE);
    return failed;
}

/* Attach the program that puts values back before any other program sets one. */
static int pin_all(struct attach_bpf *b, const struct attach_target *t, int cgroup,
                   bool experiment) {
    int failed = pin_map(b->maps.sockets, t->name, PIN_SOCKETS);
    if (!failed)
        failed = pin_link(bpf_program__attach_iter(b->progs.restore, NULL), t->name, PIN_RESTORE);
    if (!failed)
        failed =
            pin_link(bpf_program__attach_cgroup(b->progs.on_setsockopt, cgroup), t->name, PIN_SET);
    if (!failed)
        failed =
            pin_link(bpf_program__attach_cgroup(b->progs.on_getsockopt, cgroup), t->name, PIN_GET);
    if (!failed && experiment)
        failed = pin_experiment(b, t->name);
    if (!failed)
        failed =
            pin_link(bpf_program__attach_cgroup(b->progs.on_event, cgroup), t->name, PIN_EVENTS);
    if (!failed && t->pid)
        failed =
            pin_link(bpf_program__attach_cgroup(b->progs.on_create, cgroup), t->name, PIN_CREATE);
    return failed;
}

/* ---- sockets that exist ------------------------------------------------------------------ */

/* Walks twice: the second walk finds a descriptor that was being made during the first. */
static int mark_sockets(struct attach_bpf *b, pid_t pid) {
    union bpf_iter_link_info info = {.task.pid = (__u32)pid};
    struct bpf_iter_attach_opts options;
    memset(&options, 0, sizeof(options)); /* libbpf refuses a padding that is not zero */
    options.sz = sizeof(options);
    options.link_info = &info;
    options.link_info_len = sizeof(info);
    struct bpf_link *link = bpf_program__attach_iter(b->progs.mark, &options);
    if (!link)
        return -errno;
    int failed = 0;
    for (int i = 0; i < 2 && !failed; i++) {
        int fd = bpf_iter_create(bpf_link__fd(link));
        failed = attach_run_iterator(fd < 0 ? -errno : fd);
    }
    bpf_link__destroy(link);
    return failed;
}

static int open_take(const void *link) {
    int fd = bpf_iter_create(bpf_link__fd(link));
    return fd < 0 ? -errno : fd;
}

static int take_sockets(struct attach_bpf *b, const struct attach_target *t) {
    const struct attach_scope scope = {t->pid, t->path};
    struct bpf_link *link = bpf_program__attach_iter(b->progs.take, NULL);
    if (!link)
        return -errno;
    int missed = attach_walk(open_take, link, &scope);
    bpf_link__destroy(link);
    return missed;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Makes its folder, and the pin that shows its target to other attachments, while no other attachment begins.
 * *made: the folder is ours.  An error may have a sentence. */
static int reserve(const struct attach_bpf *b, const struct attach_target *t,
                   const struct attach_config *c, bool *made, char error[ATTACH_ERROR]) {
    char path[PIN_PATH];
    attach_pin_path(t->name, "", path);
    int lock = pins_lock();
    if (lock < 0) {
        snprintf(error, ATTACH_ERROR, "%s: %s", ATTACH_FOLDER, strerror(-lock));
        return lock;
    }
    int failed = attach_refuse_overlap(t->name, c, error);
    if (!failed)
        failed = mkdir(path, 0700) == 0 ? 0 : -errno;
    if (failed == -EEXIST)
        snprintf(error, ATTACH_ERROR, "%s: attached already; `unstall attach --list` shows it",
                 t->text);
    *made = !failed;
    if (*made)
        failed = pin_map(b->maps.config, t->name, PIN_CONFIG);
    pins_unlock(lock);
    return failed;
}

static int begin_in(struct attach_bpf *b, const struct attach_target *t, bool experiment) {
    int cgroup = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0)
        return -errno;
    int failed = pin_all(b, t, cgroup, experiment);
    close(cgroup);
    if (!failed && t->pid)
        failed = mark_sockets(b, t->pid);
    if (failed || t->own_cgroup) /* a new cgroup has no connection */
        return failed;
    return take_sockets(b, t);
}

static int explain(int failed, const struct attach_target *t, char error[ATTACH_ERROR]) {
    if (failed == -ESRCH || (t->pid && attach_start_of(t->pid) == 0))
        snprintf(error, ATTACH_ERROR, "%d: the process has ended meanwhile", (int)t->pid);
    else if (failed == -ENOENT)
        snprintf(error, ATTACH_ERROR, "%s: the cgroup was removed meanwhile", t->path);
    else
        snprintf(error, ATTACH_ERROR, "the kernel refuses it (%s)%s; nothing is changed",
                 strerror(-failed), wants_log ? "" : "; --verbose 2 shows its reasons");
    return failed;
}

int attach_begin(const struct attach_target *t, const struct attach_options *o,
                 char error[ATTACH_ERROR]) {
    const char *why = attach_obstacle();
    if (why) {
        snprintf(error, ATTACH_ERROR, "%s", why);
        return -EPERM;
    }
    wants_log = o->verbose >= 2;
    libbpf_set_print(log_line);
    struct attach_config c = config_of(t, o);
    if (c.mode != ATTACH_ALWAYS && kernel_version() < KERNEL_PROOF) {
        snprintf(error, ATTACH_ERROR, "mode %s needs Linux 6.10; mode always needs Linux 6.1",
                 c.mode == ATTACH_LATE ? "late" : "proof");
        return -ENOSYS;
    }
    if (c.experiment.arms && kernel_version() < KERNEL_EXPERIMENT) {
        snprintf(error, ATTACH_ERROR, "an experiment in the kernel needs Linux 6.3");
        return -ENOSYS;
    }
    struct attach_bpf *b = NULL;
    char ignored[ATTACH_ERROR];
    bool made = false; /* else a folder of this name is another command's */
    error[0] = '\0';
    int failed = load(&b, &c);
    if (!failed)
        failed = reserve(b, t, &c, &made, error);
    if (!failed)
        failed = begin_in(b, t, c.experiment.arms != 0);
    attach_bpf__destroy(b);
    if (failed < 0 && made)
        attach_end(t->name, ignored);
    if (failed < 0)
        return error[0] ? failed : explain(failed, t, error);
    if (failed > 0)
        snprintf(error, ATTACH_ERROR,
                 "%d network namespaces of the target could not be entered (CAP_SYS_ADMIN); "
                 "connections that exist there are left alone",
                 failed);
    return 0;
}
