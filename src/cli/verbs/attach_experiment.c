/* SPDX-License-Identifier: MIT */
#include "attach_experiment.h"

#include <string.h>

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
            return complain("--arms: in the kernel there are off and nodelay");
        e->nodelay |= (__u32)(w->arms.mode[i] == MODE_NODELAY) << i;
        e->weight[i] = w->arms.weight[i];
    }
    return 0;
}

static void begin_buckets(struct json *j, unsigned steps) {
    json_object(j, "exchange");
    json_unsigned(j, "steps", steps);
    json_array(j, "buckets");
}

static void bucket(struct json *j, unsigned number, uint64_t count) {
    if (!count)
        return;
    json_array(j, NULL);
    json_unsigned(j, NULL, number);
    json_unsigned(j, NULL, count);
    json_array_end(j);
}

static void end_buckets(struct json *j) {
    json_array_end(j);
    json_object_end(j);
}

static void tell_connection(void *with, __u64 number, const struct attach_connection *c) {
    struct json *j = with;
    char text[ENDPOINT_ROOM];
    json_object(j, NULL);
    json_unsigned(j, "serial", number);
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
    begin_buckets(j, COARSE_STEPS);
    for (unsigned i = 0; i < COARSE_BUCKETS; i++)
        bucket(j, i, c->exchange[i]);
    end_buckets(j);
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
    begin_buckets(j, HISTOGRAM_STEPS);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        bucket(j, i, sums->exchange[i]);
    end_buckets(j);
    json_object_end(j);
}

bool experiment_tell(struct experiment *e, const char *name) {
    struct attach_state s;
    struct attach_arm sums;
    struct json j = json_begin(stdout);
    attach_look(name, &s);
    j.compact = true;
    json_object(&j, NULL);
    json_unsigned(&j, "existed", s.config.experiment.existed);
    json_unsigned(&j, "missed", s.config.experiment.missed);
    json_array(&j, "connections");
    experiment_each(e, tell_connection, &j);
    json_array_end(&j);
    json_array(&j, "rows");
    for (unsigned arm = 0; arm < s.config.experiment.arms && experiment_arm(e, arm, &sums); arm++)
        tell_arm(&j, arm, &sums);
    json_array_end(&j);
    json_object_end(&j);
    json_end(&j);
    return fflush(stdout) == 0;
}
