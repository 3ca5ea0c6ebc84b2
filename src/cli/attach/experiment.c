/* SPDX-License-Identifier: MIT
 *
 * The measurements of an attachment that is an experiment: a line of JSON at a time, in the words of
 * `unstall report --json`.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "array.h"
#include "attach.h"
#include "clock_ns.h"
#include "closing.h"
#include "json.h"
#include "pins.h"
#include "stats_names.h"

int experiment_open(struct experiment *e, const char *name) {
    *e = (struct experiment){.config = attach_pin_open(name, PIN_CONFIG),
                             .connections = attach_pin_open(name, PIN_CONNECTIONS),
                             .arms = attach_pin_open(name, PIN_ARMS)};
    if (e->config >= 0 && e->connections >= 0 && e->arms >= 0)
        return 0;
    int failed = e->config < 0 ? e->config : e->connections < 0 ? e->connections : e->arms;
    experiment_close(e);
    return failed;
}

void experiment_close(struct experiment *e) {
    const int maps[] = {e->config, e->connections, e->arms};
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
        if (maps[i] >= 0)
            close(maps[i]);
    e->config = e->connections = e->arms = -1;
}

/* The members that a connection and an arm have both. */
#define TELL_SUMS(j, of, steps)                         \
    json_unsigned(j, "exchanges", (of)->exchanges);     \
    json_unsigned(j, "exchange_ns", (of)->exchange_ns); \
    json_unsigned(j, "messages", (of)->messages);       \
    json_unsigned(j, "segments", (of)->segments);       \
    json_unsigned(j, "stalls_proved", (of)->stalls);    \
    json_histogram(j, "exchange", steps, (of)->exchange)

static void tell_connection(struct json *j, __u64 number, const struct attach_connection *c) {
    char text[ENDPOINT_ROOM];
    json_object(j, NULL);
    json_unsigned(j, "serial", number);
    json_unsigned(j, "number", number);
    json_unsigned(j, "arm", c->arm);
    json_unsigned(j, "row", c->arm);
    json_unsigned(j, "opened_ns", c->opened_ns);
    json_unsigned(j, "ended_ns", c->ended_ns);
    json_string(j, "peer", address_text(&c->peer, text));
    json_string(j, "listener", address_text(attach_listener_of(c), text));
    TELL_SUMS(j, c, COARSE_STEPS);
    json_object_end(j);
}

/* Tells each connection with news since the last call, and forgets one that has ended.  The end is told
 * whenever it is found: its time was taken before it was written, and the host may have stopped that
 * processor in between for longer than SLACK_NS. */
static void tell_connections(struct json *j, struct experiment *e) {
    enum { SLACK_NS = 1000000 }; /* a change is written a moment after its time was taken */
    struct attach_connection c;
    __u64 now = clock_ns(CLOCK_MONOTONIC), number, next;
    bool more = bpf_map_get_next_key(e->connections, NULL, &number) == 0;
    while (more) {
        more = bpf_map_get_next_key(e->connections, &number, &next) == 0;
        if (bpf_map_lookup_elem(e->connections, &number, &c) == 0 && c.opened_ns &&
            (c.ended_ns || c.changed_ns >= e->looked_ns)) {
            tell_connection(j, number, &c);
            if (c.ended_ns)
                bpf_map_delete_elem(e->connections, &number);
        }
        number = next;
    }
    e->looked_ns = now - SLACK_NS;
}

static void tell_arm(struct json *j, unsigned arm, const struct attach_arm *sums) {
    json_object(j, NULL);
    json_unsigned(j, "index", arm);
    json_unsigned(j, "arm", arm);
    json_unsigned(j, "connections", sums->connections);
    json_unsigned(j, "connections_ended", sums->ended);
    TELL_SUMS(j, sums, HISTOGRAM_STEPS);
    json_object_end(j);
}

static void tell_all(struct json *j, struct experiment *e) {
    struct attach_config c;
    struct attach_arm sums;
    __u32 key = 0;
    if (bpf_map_lookup_elem(e->config, &key, &c) != 0)
        c.experiment = (struct attach_experiment){.arms = 0};
    j->compact = 1;
    json_object(j, NULL);
    json_unsigned(j, "existed", c.experiment.existed);
    json_unsigned(j, "missed", c.experiment.missed);
    json_array(j, "connections");
    tell_connections(j, e);
    json_array_end(j);
    json_array(j, "rows");
    for (__u32 n = 0; n < c.experiment.arms && bpf_map_lookup_elem(e->arms, &n, &sums) == 0; n++)
        tell_arm(j, n, &sums);
    json_array_end(j);
    json_object_end(j);
    json_end(j);
}

/* A pipe that poll() calls writable takes PIPE_BUF bytes without a wait.  So a signal interrupts no write,
 * which would break the line, and a reader that does not read does not keep us from the end. */
static bool hand_over(const char *text, size_t bytes, const volatile sig_atomic_t *stop) {
    enum { LOOK_MS = 500, LOOKS = 10 }; /* so often at most after the signal to stop */
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    for (int looks = 0; bytes && looks < LOOKS;) {
        int n = poll(&out, 1, LOOK_MS);
        if (n == 0)
            looks += *stop != 0;
        if (n <= 0)
            continue;
        ssize_t done = write(STDOUT_FILENO, text, bytes < PIPE_BUF ? bytes : PIPE_BUF);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        text += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
        looks = done > 0 ? 0 : looks;
    }
    return bytes == 0;
}

bool experiment_tell(struct experiment *e, const volatile sig_atomic_t *stop) {
    FREED char *text = NULL;
    size_t bytes = 0;
    FILE *line = open_memstream(&text, &bytes);
    if (!line)
        return false;
    struct json j = json_begin(line);
    tell_all(&j, e);
    return fclose(line) == 0 && hand_over(text, bytes, stop);
}
