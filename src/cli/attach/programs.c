/* SPDX-License-Identifier: MIT */
#include "programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pins.h"

/* bpftool generates this header; it does not pass our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "attach.skel.h"
#pragma GCC diagnostic pop

/* ---- loading ---------------------------------------------------------------------------- */

static bool wants_log;

__attribute__((format(printf, 2, 0))) static int log_line(enum libbpf_print_level level,
                                                          const char *format, va_list arguments) {
    return wants_log && level != LIBBPF_DEBUG ? vfprintf(stderr, format, arguments) : 0;
}

void programs_show_log(bool shown) {
    wants_log = shown;
    libbpf_set_print(log_line);
}

int programs_load(struct attach_bpf **opened, const struct attach_config *c) {
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

static int take_sockets(struct attach_bpf *b, const struct attach_target *t, struct prose *missed) {
    const struct attach_scope scope = {t->pid, t->path};
    struct bpf_link *link = bpf_program__attach_iter(b->progs.take, NULL);
    if (!link)
        return -errno;
    int failed = attach_walk(open_take, link, &scope, missed);
    bpf_link__destroy(link);
    return failed;
}

/* ---- the whole ----------------------------------------------------------------------------- */

int programs_pin_config(const struct attach_bpf *b, const char *name) {
    return pin_one(b, name, PIN_CONFIG, -1);
}

int programs_begin(struct attach_bpf *b, const struct attach_target *t, bool experiment,
                   struct prose *missed) {
    int cgroup = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0)
        return -errno;
    int failed = pin_all(b, t, cgroup, experiment);
    close(cgroup);
    if (!failed && t->pid)
        failed = mark_sockets(b, t->pid);
    return failed ? failed : take_sockets(b, t, missed);
}

void programs_free(struct attach_bpf *b) {
    attach_bpf__destroy(b);
}

/* ---- a lost way back --------------------------------------------------------------------------- */

static int reuse_map(struct bpf_map *map, const char *name, enum pin pin) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    int fd = bpf_obj_get(path);
    if (fd < 0)
        return -errno;
    int failed = bpf_map__reuse_fd(map, fd);
    close(fd);
    return failed;
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

int programs_pin_restore_again(const char *name) {
    programs_show_log(wants_log);
    struct attach_bpf *b = attach_bpf__open();
    if (!b)
        return -errno;
    int failed = load_restore_alone(b, name);
    if (!failed)
        failed = pin_one(b, name, PIN_RESTORE, -1);
    attach_bpf__destroy(b);
    return failed;
}
