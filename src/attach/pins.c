/* SPDX-License-Identifier: MIT
 *
 * Finds, lists and removes the pins of attachments.
 */
#include "pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach.h"
#include "own_folder.h"
#include "pins_lock.h"
#include "walk.h"

void attach_pin_path(const char *name, const char *pin, char path[PIN_PATH]) {
    snprintf(path, PIN_PATH, ATTACH_FOLDER "/%s%s%s", name, pin[0] ? "/" : "", pin);
}

bool attach_is_there(const char *name) {
    char path[PIN_PATH];
    attach_pin_path(name, "", path);
    return access(path, F_OK) == 0;
}

int attach_look(const char *name, struct attach_state *s) {
    char path[PIN_PATH];
    struct bpf_map_info info = {0};
    __u32 size = sizeof(info), key = 0;
    *s = (struct attach_state){.known = false};
    snprintf(s->name, sizeof(s->name), "%s", name);
    attach_pin_path(name, PIN_CONFIG, path);
    int map = bpf_obj_get(path);
    if (map < 0)
        return -errno;
    s->known =
        bpf_obj_get_info_by_fd(map, &info, &size) == 0 && info.value_size == sizeof(s->config) &&
        bpf_map_lookup_elem(map, &key, &s->config) == 0 && s->config.version == ATTACH_VERSION;
    close(map);
    return 0;
}

int attach_list(struct attach_state **list, size_t *count, char error[ATTACH_ERROR]) {
    DIR *folder = opendir(ATTACH_FOLDER);
    *list = NULL;
    *count = 0;
    if (!folder && errno == ENOENT)
        return 0;
    if (!folder) {
        int failed = -errno;
        snprintf(error, ATTACH_ERROR, "%s: %s", ATTACH_FOLDER, strerror(-failed));
        return failed;
    }
    for (const struct dirent *e; (e = readdir(folder));) {
        struct attach_state *more;
        if (e->d_name[0] == '.')
            continue;
        if (!(more = reallocarray(*list, *count + 1, sizeof(*more))))
            break;
        *list = more;
        attach_look(e->d_name, &more[(*count)++]);
    }
    closedir(folder);
    return 0;
}

/* ---- taking away ------------------------------------------------------------------ */

/* A link also gets detached from its cgroup: another process may have a descriptor of it, and removing the
 * pin would then not end it. */
static void take_away(const char *name, const char *pin, bool is_link) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    int link = is_link ? bpf_obj_get(path) : -1;
    if (link >= 0) {
        bpf_link_detach(link);
        close(link);
    }
    unlink(path);
}

static int open_restore(const void *name) {
    char path[PIN_PATH];
    attach_pin_path(name, PIN_RESTORE, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void take_away_experiment(const char *name) {
    take_away(name, PIN_SENT, true);
    take_away(name, PIN_RECEIVED, true);
    take_away(name, PIN_DATA, true);
    take_away(name, PIN_STATE, true);
    take_away(name, PIN_CONNECTIONS, false);
    take_away(name, PIN_ARMS, false);
}

/* The sockets get their values back, and a second time once nothing new is cured.  No walk finds a
 * disconnected socket; the program of events puts its values back, so it stays until then.  The programs that
 * answer getsockopt(2) go last. Each step may be repeated: the end after a SIGKILL in the middle goes on. */
int attach_end(const char *name, char error[ATTACH_ERROR]) {
    char path[PIN_PATH];
    struct attach_state s;
    if (!attach_is_there(name))
        return -ENOENT;
    attach_look(name, &s);
    const struct attach_scope scope = {s.config.pid, s.config.path};
    take_away(name, PIN_CREATE, true);
    take_away_experiment(name);
    attach_walk(open_restore, name, &scope);
    take_away(name, PIN_EVENTS, true);
    int missed = attach_walk(open_restore, name, &scope);
    if (missed < 0 && missed != -ENOENT) { /* -ENOENT: it came to its end before anything was set */
        snprintf(error, ATTACH_ERROR,
                 "the sockets could not be put back (%s); their record is kept: try again",
                 strerror(-missed));
        return missed;
    }
    take_away(name, PIN_SET, true);
    take_away(name, PIN_GET, true);
    take_away(name, PIN_RESTORE, false);
    take_away(name, PIN_SOCKETS, false);
    int stays = s.known && s.config.own_cgroup ? own_folder_remove(s.config.path) : 0;
    if (stays) { /* the name stays in the list, so that `unstall detach` finds it */
        snprintf(error, ATTACH_ERROR,
                 "%s: the cgroup stays (%s); remove the cgroups below it, and try again",
                 s.config.path, strerror(-stays));
        return stays;
    }
    take_away(name, PIN_CONFIG, false);
    attach_pin_path(name, "", path);
    int failed = rmdir(path) == 0 || errno == ENOENT ? 0 : -errno;
    pins_unlock(pins_lock()); /* removes the folder above if it was the last one */
    if (failed)
        snprintf(error, ATTACH_ERROR, "%s: %s", path, strerror(-failed));
    else if (missed > 0)
        snprintf(error, ATTACH_ERROR,
                 "%d network namespaces of the target could not be entered (CAP_SYS_ADMIN); "
                 "connections there keep TCP_NODELAY",
                 missed);
    return failed;
}
