/* SPDX-License-Identifier: MIT */
#include "experiment.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock_ns.h"
#include "pins.h"

static int open_map(const char *name, const char *pin) {
    char path[PIN_PATH];
    attach_pin_path(name, pin, path);
    int fd = bpf_obj_get(path);
    return fd < 0 ? -errno : fd;
}

int experiment_open(struct experiment *e, const char *name) {
    *e = (struct experiment){.config = open_map(name, PIN_CONFIG),
                             .connections = open_map(name, PIN_CONNECTIONS),
                             .arms = open_map(name, PIN_ARMS)};
    if (e->config >= 0 && e->connections >= 0 && e->arms >= 0)
        return 0;
    int failed = e->config < 0 ? e->config : e->connections < 0 ? e->connections : e->arms;
    experiment_close(e);
    return failed;
}

void experiment_close(struct experiment *e) {
    const int maps[] = {e->config, e->connections, e->arms};
    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
        if (maps[i] >= 0)
            close(maps[i]);
    e->config = e->connections = e->arms = -1;
}

/* The end is told whenever it is found: its time was taken before it was written, and the host may have
 * stopped that processor in between for longer than SLACK_NS. */
void experiment_each(struct experiment *e,
                     void (*take)(void *with, __u64 number, const struct attach_connection *c),
                     void *with) {
    enum { SLACK_NS = 1000000 }; /* a change is written a moment after its time was taken */
    struct attach_connection c;
    __u64 now = clock_ns(CLOCK_MONOTONIC), number, next;
    bool more = bpf_map_get_next_key(e->connections, NULL, &number) == 0;
    while (more) {
        more = bpf_map_get_next_key(e->connections, &number, &next) == 0;
        if (bpf_map_lookup_elem(e->connections, &number, &c) == 0 && c.opened_ns &&
            (c.ended_ns || c.changed_ns >= e->looked_ns)) {
            take(with, number, &c);
            if (c.ended_ns)
                bpf_map_delete_elem(e->connections, &number);
        }
        number = next;
    }
    e->looked_ns = now - SLACK_NS;
}

bool experiment_config(const struct experiment *e, struct attach_config *c) {
    __u32 key = 0;
    return bpf_map_lookup_elem(e->config, &key, c) == 0;
}

bool experiment_arm(const struct experiment *e, unsigned arm, struct attach_arm *sums) {
    __u32 key = arm;
    return bpf_map_lookup_elem(e->arms, &key, sums) == 0;
}
