/* SPDX-License-Identifier: MIT */
#include "attach_experiment.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "errors.h"
#include "json.h"
#include "policy.h"
#include "stats_names.h"

int experiment_asked(const struct arms_words *w, struct attach_experiment *e) {
    if (!w->arms.count)
        return complain("--assign and --seed: need --arms; try --help");
    e->arms = w->arms.count;
    e->seed = w->arms.seed;
    e->assignment = w->arms.assignment;
    for (uint32_t i = 0; i < e->arms; i++) {
        if (w->arms.mode[i] != MODE_OFF && w->arms.mode[i] != MODE_NODELAY)
            return complain("--arms: expected only off and nodelay, the arms in the kernel");
        e->nodelay |= (__u32)(w->arms.mode[i] == MODE_NODELAY) << i;
        e->weight[i] = w->arms.weight[i];
    }
    return 0;
}

static void tell_connection(void *with, __u64 number, const struct attach_connection *c) {
    struct json *j = with;
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
    json_unsigned(j, "exchanges", c->exchanges);
    json_unsigned(j, "exchange_ns", c->exchange_ns);
    json_unsigned(j, "messages", c->messages);
    json_unsigned(j, "segments", c->segments);
    json_unsigned(j, "stalls_proved", c->stalls);
    json_buckets(j, "exchange", COARSE_STEPS);
    for (unsigned i = 0; i < COARSE_BUCKETS; i++)
        json_bucket(j, i, c->exchange[i]);
    json_buckets_end(j);
    json_object_end(j);
}

static void tell_arm(struct json *j, unsigned arm, const struct attach_arm *sums) {
    json_object(j, NULL);
    json_unsigned(j, "index", arm);
    json_unsigned(j, "arm", arm);
    json_unsigned(j, "connections", sums->connections);
    json_unsigned(j, "connections_ended", sums->ended);
    json_unsigned(j, "exchanges", sums->exchanges);
    json_unsigned(j, "exchange_ns", sums->exchange_ns);
    json_unsigned(j, "messages", sums->messages);
    json_unsigned(j, "segments", sums->segments);
    json_unsigned(j, "stalls_proved", sums->stalls);
    json_buckets(j, "exchange", HISTOGRAM_STEPS);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        json_bucket(j, i, sums->exchange[i]);
    json_buckets_end(j);
    json_object_end(j);
}

static void tell_all(struct json *j, struct experiment *e) {
    struct attach_config c;
    struct attach_arm sums;
    if (!experiment_config(e, &c))
        c.experiment = (struct attach_experiment){.arms = 0};
    j->compact = 1;
    json_object(j, NULL);
    json_unsigned(j, "existed", c.experiment.existed);
    json_unsigned(j, "missed", c.experiment.missed);
    json_array(j, "connections");
    experiment_each(e, tell_connection, j);
    json_array_end(j);
    json_array(j, "rows");
    for (unsigned arm = 0; arm < c.experiment.arms && experiment_arm(e, arm, &sums); arm++)
        tell_arm(j, arm, &sums);
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
    char *text = NULL;
    size_t bytes = 0;
    FILE *line = open_memstream(&text, &bytes);
    if (!line)
        return false;
    struct json j = json_begin(line);
    tell_all(&j, e);
    bool told = fclose(line) == 0 && hand_over(text, bytes, stop);
    free(text);
    return told;
}
