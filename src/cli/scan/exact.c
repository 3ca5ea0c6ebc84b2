/* SPDX-License-Identifier: MIT
 *
 * The source that needs CAP_BPF and CAP_PERFMON.  bpf/stall.bpf.c counts in the kernel; this file
 * loads it and reads its maps.  Nothing is pinned, so the kernel removes it when this process ends.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "capability.h"
#include "diag.h"
#include "process_stat.h"
#include "source.h"

/* bpftool generates this header; it does not pass our warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "stall.skel.h"
#pragma GCC diagnostic pop

_Static_assert((int)SCAN_THREAD == (int)NAME_SIZE, "a thread's name has one size");

/* The other end of a connection within this host, remembered beyond the connection's end. */
struct peer {
    uint64_t cookie, inode;
};

struct exact {
    struct scan_options options;
    struct stall_bpf *program;
    struct scan_diag *diag;
    struct scan_listeners listeners;
    uint64_t began_ns;
    ino_t network;   /* the namespace that `diag` looks into */
    bool knows_pids; /* the program's process ids are those of /proc */
    struct scan_places *places;
    struct ring_buffer *calls;
    struct peer *peers;
    size_t peer_count;
};

/* ---- may it be loaded? ------------------------------------------------------ */

static bool may_load(void) {
    return has_capability(CAP_SYS_ADMIN) ||
           (has_capability(CAP_BPF) && has_capability(CAP_PERFMON));
}

static bool kernel_has(const char *tracepoint) {
    char type[64];
    struct btf *btf = btf__load_vmlinux_btf();
    snprintf(type, sizeof(type), "btf_trace_%s", tracepoint);
    bool found = btf && btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0;
    btf__free(btf);
    return found;
}

/* The reason why the program cannot be loaded here, or NULL. */
static const char *obstacle(void) {
    if (!may_load())
        return capability_lack("CAP_BPF and CAP_PERFMON");
    if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
        return "the kernel does not describe its types (/sys/kernel/btf/vmlinux, "
               "CONFIG_DEBUG_INFO_BTF)";
    if (!kernel_has("sock_send_length"))
        return "the kernel has no tracepoint sock_send_length; Linux 6.3 has it";
    if (!kernel_has("tcp_probe"))
        return "the kernel has no tracepoint tcp_probe; Linux 4.16 has it";
    return NULL;
}

/* ---- loading ------------------------------------------------------------------ */

static bool wants_log;

__attribute__((format(printf, 2, 0))) static int log_line(enum libbpf_print_level level,
                                                          const char *format, va_list arguments) {
    (void)level;
    return wants_log ? vfprintf(stderr, format, arguments) : 0;
}

static void end(void *source) {
    struct exact *e = source;
    ring_buffer__free(e->calls);
    stall_bpf__destroy(e->program);
    scan_places_end(e->places);
    scan_diag_close(e->diag);
    free(e->peers);
    free(e);
}

static int take_call(void *arg, void *call, size_t size) {
    struct exact *e = arg;
    if (size >= sizeof(struct scan_call))
        scan_places_take(e->places, call);
    else
        scan_places_stalled(e->places, *(const uint64_t *)call);
    return 0;
}

static int keep_calls(struct exact *e) {
    e->places = scan_places_begin(e->options.places_of);
    e->calls = ring_buffer__new(bpf_map__fd(e->program->maps.calls), take_call, e, NULL);
    return e->places && e->calls ? 0 : -ENOMEM;
}

/* 0: not known. */
static ino_t network_of(pid_t pid) {
    char name[PROCESS_PATH];
    struct stat st;
    return stat(process_path(pid ? pid : getpid(), "ns/net", name), &st) == 0 ? st.st_ino : 0;
}

static int load(struct exact *e) {
    int failed;
    libbpf_set_print(log_line);
    e->program = stall_bpf__open();
    if (!e->program)
        return -errno;
    e->network = network_of(e->options.namespace_of);
    e->knows_pids = scan_pids_are_the_hosts();
    e->options.places &= e->knows_pids;
    e->program->rodata->keeps_calls = e->options.places;
    e->program->rodata->wanted_process = (__u32)e->options.places_of;
    e->program->rodata->wanted_port = e->options.port;
    if ((failed = stall_bpf__load(e->program)) || (failed = stall_bpf__attach(e->program)))
        return failed;
    if (e->options.places && (failed = keep_calls(e)))
        return failed;
    return scan_listeners_look(&e->listeners, e->diag);
}

static void *begin(const struct scan_options *o, char error[SCAN_ERROR]) {
    const char *why = obstacle();
    if (why) {
        snprintf(error, SCAN_ERROR, "%s", why);
        return NULL;
    }
    struct exact *e = calloc(1, sizeof(*e));
    int failed = e ? scan_diag_open(&e->diag, o->namespace_of) : -ENOMEM;
    wants_log = o->verbose >= 2;
    if (e)
        e->options = *o;
    if (!failed)
        failed = load(e);
    if (!failed) {
        e->began_ns = scan_now();
        return e;
    }
    snprintf(error, SCAN_ERROR, "the kernel refuses the BPF program (%s)%s", strerror(-failed),
             wants_log ? "" : "; --verbose 2 shows its reasons");
    if (e)
        end(e);
    return NULL;
}

/* ---- results ------------------------------------------------------------------- */

static int run(void *source, uint64_t until_ns, const volatile sig_atomic_t *stop) {
    struct exact *e = source;
    while (!*stop && scan_now() < until_ns)
        scan_sleep_until(until_ns); /* a signal ends it */
    if (e->calls)
        ring_buffer__consume(e->calls);
    return scan_listeners_look(&e->listeners, e->diag);
}

/* A connection of one address to itself is in one namespace.  Where `diag` looks into another one, these
 * addresses are another connection. */
static bool is_hidden(const struct exact *e, const struct scan_total *t) {
    return t->network && e->network && t->network != e->network &&
           memcmp(t->local.address, t->peer.address, sizeof(t->peer.address)) == 0;
}

static uint64_t peer_of(struct exact *e, const struct scan_total *t, uint64_t cookie,
                        const struct scan_key *key) {
    for (size_t i = 0; i < e->peer_count; i++)
        if (e->peers[i].cookie == cookie)
            return e->peers[i].inode;
    if (e->options.no_peers || is_hidden(e, t))
        return 0;
    uint64_t inode = scan_diag_peer(e->diag, key);
    if (inode)
        ARRAY_ADD(e->peers, e->peer_count, (struct peer){cookie, inode});
    return inode;
}

static void fill_in(struct exact *e, const struct scan_total *t, uint64_t cookie,
                    struct scan_connection *c) {
    *c = (struct scan_connection){
        .key = {.family = (uint8_t)t->family,
                .local = t->local,
                .peer = t->peer,
                .interface = t->interface,
                .cookie = {(uint32_t)cookie, (uint32_t)(cookie >> 32)}},
        .inode = t->inode,
        .uid = t->user,
        .pid = e->knows_pids ? (pid_t)t->process : 0, /* 0: it is sought by its socket */
        .one_way = t->answered == 0,
    };
    memcpy(c->thread, t->name, sizeof(c->thread));
    c->thread[SCAN_THREAD - 1] = '\0';
    scan_estimate_exact(&c->stalls, t->stalls, t->lost_ns);
    c->peer_inode = peer_of(e, t, cookie, &c->key);
}

static size_t count_totals(int map) {
    __u64 key;
    size_t count = 0;
    for (const __u64 *last = NULL; bpf_map_get_next_key(map, last, &key) == 0; last = &key)
        count++;
    return count;
}

static int collect(void *source, struct scan_result *r) {
    struct exact *e = source;
    int map = bpf_map__fd(e->program->maps.totals);
    size_t room = count_totals(map);
    __u64 key;
    *r = (struct scan_result){.kind = SCAN_EXACT,
                              .began_ns = e->began_ns,
                              .ended_ns = scan_now(),
                              .lost = e->program->bss->lost + e->program->bss->unseen};
    r->connections = calloc(room + 1, sizeof(*r->connections));
    r->listening = &e->listeners;
    if (!r->connections)
        return -ENOMEM;
    for (const __u64 *last = NULL; r->count < room && bpf_map_get_next_key(map, last, &key) == 0;
         last = &key) {
        struct scan_total t;
        if (bpf_map_lookup_elem(map, &key, &t) == 0 && scan_has_port(&t.local, &t.peer, e->options.port))
            fill_in(e, &t, key, &r->connections[r->count++]);
    }
    r->share = scan_own_share(e->began_ns, r->ended_ns);
    return 0;
}

static const struct stats_files *places(void *source, const struct scan_table *t) {
    struct exact *e = source;
    return e->places ? scan_places_of(e->places, t) : NULL;
}

static void forget(void *source, const struct scan_key *keys, size_t count) {
    const struct exact *e = source;
    int map = bpf_map__fd(e->program->maps.totals);
    for (size_t i = 0; i < count; i++) {
        __u64 cookie = keys[i].cookie[0] | (__u64)keys[i].cookie[1] << 32;
        bpf_map_delete_elem(map, &cookie);
    }
}

const struct scan_source scan_exact = {begin, run, collect, places, forget, end};
