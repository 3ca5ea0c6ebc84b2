/* SPDX-License-Identifier: MIT
 *
 * Begins an attachment, or says why it cannot be: loads and pins its BPF programs, and runs their iterators
 * over the existing sockets.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "array.h"
#include "attach.h"
#include "capability.h"
#include "clock_ns.h"
#include "errors.h"
#include "pins.h"
#include "process_stat.h"

/* bpftool generates this header; it does not pass our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "attach.skel.h"
#pragma GCC diagnostic pop

enum { KERNEL_LEAST = 601, KERNEL_EXPERIMENT = 603, KERNEL_PROOF = 610 }; /* as kernel_version() */

/* ---- may it be loaded? ---------------------------------------------------------------- */

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

/* ---- loading ---------------------------------------------------------------------------- */

static bool wants_log;

__attribute__((format(printf, 2, 0))) static int log_line(enum libbpf_print_level level,
                                                          const char *format, va_list arguments) {
    return wants_log && level != LIBBPF_DEBUG ? vfprintf(stderr, format, arguments) : 0;
}

/* Whether stderr shows what libbpf and the kernel's verifier say. */
static void show_log(bool shown) {
    wants_log = shown;
    libbpf_set_print(log_line);
}

/* Also after an error, attach_bpf__destroy(*opened). */
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
static int pin_link(struct bpf_link *link, const char *name, enum pin pin) {
    char path[PIN_PATH];
    if (!link)
        return -errno;
    attach_pin_path(name, pin, path);
    int failed = bpf_link__pin(link, path);
    bpf_link__destroy(link);
    return failed;
}

static int pin_map(const struct bpf_map *map, const char *name, enum pin pin) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    return bpf_obj_pin(bpf_map__fd(map), path) == 0 ? 0 : -errno;
}

static int pin_one(const struct attach_bpf *b, const char *name, enum pin pin, int cgroup) {
    switch (pin) {
    case PIN_CONFIG: return pin_map(b->maps.config, name, pin);
    case PIN_SOCKETS: return pin_map(b->maps.sockets, name, pin);
    case PIN_RESTORE: return pin_link(bpf_program__attach_iter(b->progs.restore, NULL), name, pin);
    case PIN_SET: return pin_link(bpf_program__attach_cgroup(b->progs.on_setsockopt, cgroup), name, pin);
    case PIN_GET: return pin_link(bpf_program__attach_cgroup(b->progs.on_getsockopt, cgroup), name, pin);
    case PIN_CONNECTIONS: return pin_map(b->maps.connections, name, pin);
    case PIN_ARMS: return pin_map(b->maps.arms, name, pin);
    case PIN_SENT: return pin_link(bpf_program__attach(b->progs.after_send), name, pin);
    case PIN_RECEIVED: return pin_link(bpf_program__attach(b->progs.before_receive), name, pin);
    case PIN_DATA: return pin_link(bpf_program__attach(b->progs.after_data), name, pin);
    case PIN_STATE: return pin_link(bpf_program__attach(b->progs.after_state), name, pin);
    case PIN_EVENTS: return pin_link(bpf_program__attach_cgroup(b->progs.on_event, cgroup), name, pin);
    case PIN_CREATE: return pin_link(bpf_program__attach_cgroup(b->progs.on_create, cgroup), name, pin);
    default: return -EINVAL;
    }
}

/* The program that puts values back is attached before any other sets one, and the measuring programs before
 * any connection gets its arm. */
static int pin_all(struct attach_bpf *b, const struct attach_target *t, int cgroup, bool experiment) {
    int failed = 0;
    for (int pin = PIN_SOCKETS; pin < PIN_FOLDER && !failed; pin++)
        if ((experiment || pin < PIN_CONNECTIONS || pin > PIN_STATE) && (t->pid || pin != PIN_CREATE))
            failed = pin_one(b, t->name, (enum pin)pin, cgroup);
    return failed;
}

/* ---- a walk: the sockets of every network namespace of the target ------------------------- */

struct walk {
    int (*open_one)(const void *);
    const void *with;
    const struct attach_scope *scope;
    ino_t *seen; /* namespaces */
    size_t count;
    bool away;       /* from our own one */
    unsigned closed; /* namespaces of the target that could not be entered */
    unsigned unknown; /* processes of the target whose namespace is not known */
    struct prose closed_names, unknown_names;
};

/* Reads a run of an iterator to its end.  0 or -errno. */
static int run_iterator(int fd) {
    char text[4096];
    ssize_t n;
    if (fd < 0)
        return fd;
    while ((n = read(fd, text, sizeof(text))) > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        ;
    int failed = n < 0 ? -errno : 0;
    close(fd);
    return failed;
}

/* True if this namespace has not been seen; then it is noted. */
static bool is_new(struct walk *w, ino_t inode) {
    for (size_t i = 0; i < w->count; i++)
        if (w->seen[i] == inode)
            return false;
    return ARRAY_ADD(w->seen, w->count, inode);
}

static bool is_in(pid_t pid, const struct attach_scope *scope) {
    return scope->pid ? pid == scope->pid : attach_is_below(pid, scope->folder);
}

/* Adds the first few processes to a list of names; inode 0: its namespace is not known. */
static void name(struct prose *p, unsigned number, pid_t pid, ino_t inode) {
    enum { NAMED = 4 };
    struct process_stat s;
    if (number == NAMED + 1)
        prose_add(p, ", ...");
    if (number > NAMED)
        return;
    prose_add(p, "%s", number > 1 ? ", " : "");
    if (inode)
        prose_add(p, "net:[%lu] of ", (unsigned long)inode);
    prose_add(p, "%s (%d)", process_stat(pid, &s) ? s.name : "a process", (int)pid);
}

/* 0 or -errno. */
static int walk_one(struct walk *w, pid_t pid) {
    char path[PROCESS_PATH];
    struct stat st;
    CLOSED_FD fd = open(process_path(pid, "ns/net", path), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == EACCES || errno == EPERM) && is_in(pid, w->scope) &&
        process_has_command(pid))
        name(&w->unknown_names, ++w->unknown, pid, 0);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) != 0 || !is_new(w, st.st_ino))
        return 0;
    bool entered = setns(fd, CLONE_NEWNET) == 0;
    w->away |= entered;
    if (entered)
        return run_iterator(w->open_one(w->with));
    if (is_in(pid, w->scope))
        name(&w->closed_names, ++w->closed, pid, st.st_ino);
    else
        w->count--; /* a process of the target may be in it, too */
    return 0;
}

static int walk_others(struct walk *w) {
    int failed = 0;
    CLOSED_FOLDER *proc = opendir("/proc");
    for (pid_t pid; failed == 0 && (pid = process_next(proc)) != 0;)
        failed = walk_one(w, pid);
    return failed;
}

static void tell_missed(const struct walk *w, struct prose *missed) {
    missed->used = 0;
    missed->text[0] = '\0';
    if (w->closed)
        prose_add(missed, "%u network namespace%s could not be entered (%s)", w->closed,
                  w->closed > 1 ? "s" : "", w->closed_names.text);
    if (w->unknown)
        prose_add(missed, "%s%u process%s may be in %s that are not known (%s)", w->closed ? ", and " : "",
                  w->unknown, w->unknown > 1 ? "es" : "", w->closed ? "others" : "network namespaces",
                  w->unknown_names.text);
}

int attach_walk(int (*open_one)(const void *), const void *with, const struct attach_scope *scope,
                struct prose *missed) {
    struct walk w = {.open_one = open_one, .with = with, .scope = scope};
    struct stat st;
    CLOSED_FD own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (own < 0)
        return -errno;
    if (fstat(own, &st) == 0)
        is_new(&w, st.st_ino);
    int result = run_iterator(open_one(with));
    if (result == 0)
        result = walk_others(&w);
    if (w.away && setns(own, CLONE_NEWNET) != 0 && result == 0)
        result = -errno;
    tell_missed(&w, missed);
    free(w.seen);
    return result;
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
        failed = run_iterator(fd < 0 ? -errno : fd);
    }
    bpf_link__destroy(link);
    return failed;
}

static int open_take(const void *link) {
    int fd = bpf_iter_create(bpf_link__fd(link));
    return fd < 0 ? -errno : fd;
}

static int take_sockets(struct attach_bpf *b, const struct attach_target *t, struct prose *missed) {
    const struct attach_scope scope = {t->pid, t->path};
    struct bpf_link *link = bpf_program__attach_iter(b->progs.take, NULL);
    if (!link)
        return -errno;
    int failed = attach_walk(open_take, link, &scope, missed);
    bpf_link__destroy(link);
    return failed;
}

/* Pins all but the configuration, and takes in the sockets that exist.  `missed`: as of attach_walk(). */
static int pin_and_take(struct attach_bpf *b, const struct attach_target *t, bool experiment,
                        struct prose *missed) {
    CLOSED_FD cgroup = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0)
        return -errno;
    int failed = pin_all(b, t, cgroup, experiment);
    if (!failed && t->pid)
        failed = mark_sockets(b, t->pid);
    return failed ? failed : take_sockets(b, t, missed);
}

/* ---- a lost way back --------------------------------------------------------------------------- */

static int reuse_map(struct bpf_map *map, const char *name, enum pin pin) {
    CLOSED_FD fd = attach_pin_open(name, pin);
    return fd < 0 ? fd : bpf_map__reuse_fd(map, fd);
}

static int load_restore_alone(struct attach_bpf *b, const char *name) {
    struct bpf_program *each = NULL;
    bpf_object__for_each_program(each, b->obj)
        bpf_program__set_autoload(each, each == b->progs.restore);
    bpf_map__set_max_entries(b->maps.connections, 1);
    int failed = reuse_map(b->maps.sockets, name, PIN_SOCKETS);
    if (!failed)
        failed = reuse_map(b->maps.config, name, PIN_CONFIG);
    return failed ? failed : attach_bpf__load(b);
}

int attach_pin_restore_again(const char *name) {
    show_log(wants_log);
    struct attach_bpf *b = attach_bpf__open();
    if (!b)
        return -errno;
    int failed = load_restore_alone(b, name);
    if (!failed)
        failed = pin_one(b, name, PIN_RESTORE, -1);
    attach_bpf__destroy(b);
    return failed;
}

/* ---- attachments that share connections ---------------------------------------------------- */

/* Two that cure may: a connection is cured while either of them is there.  An experiment may not, because
 * another attachment would act in every arm. */

/* True if both may have the same connection. */
static bool share_connections(const struct attach_config *a, const struct attach_config *b) {
    if (a->port && b->port && a->port != b->port)
        return false;
    if (a->pid && b->pid)
        return a->pid == b->pid && a->pid_start == b->pid_start;
    return (!b->pid && attach_path_is_below(a->path, b->path)) ||
           (!a->pid && attach_path_is_below(b->path, a->path));
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
    FREED struct attach_state *list = NULL;
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
    return failed;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static struct attach_config config_of(const struct attach_target *t,
                                      const struct attach_options *o) {
    struct attach_config c = {
        .version = ATTACH_VERSION,
        .mode = (__u32)o->mode,
        .by_process = t->pid != 0,
        .cgroup = t->cgroup,
        .whole_host = t->whole_host,
        .port = t->port,
        .quickack = o->quickack,
        .experiment = o->experiment,
        .began_ns = clock_ns(CLOCK_REALTIME),
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
        failed = pin_one(b, t->name, PIN_CONFIG, -1);
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
    show_log(verbose);
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
    int failed = load(&b, &c);
    if (!failed)
        failed = reserve(b, t, &c, &made, error);
    if (!failed)
        failed = pin_and_take(b, t, c.experiment.arms != 0, &missed);
    attach_bpf__destroy(b);
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
