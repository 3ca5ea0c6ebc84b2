/* SPDX-License-Identifier: MIT */
#include "stats_control.h"

#include <string.h>

#include "clock.h"
#include "config.h"
#include "control.h"
#include "log.h"
#include "spin.h"

_Static_assert((int)STATS_MODES == (int)MODE_COUNT && (int)STATS_MODE_AUTO == (int)MODE_AUTO,
               "the modes of the statistics file are ours");
_Static_assert((int)ARM_WEIGHT_MAX == (int)CONTROL_WEIGHT_MAX &&
                   (int)WINDOW_MIN_US == (int)CONTROL_WINDOW_MIN_US &&
                   (int)WINDOW_MAX_US == (int)CONTROL_WINDOW_MAX_US,
               "the limits of the control block are ours");

enum { UNFINISHED_NS = 1000000000 };

uint32_t control_seen;

static uint32_t lock;                 /* for all below; trylock only */
static bool kept;                     /* the next three are set */
static enum mode started_mode;        /* the meaning of CONTROL_KEEP */
static uint32_t started_window;       /* the meaning of window 0 */
static struct stats_control in_force; /* a forked child's file begins with it */
static uint32_t odd;                  /* the sequence of an unfinished write */
static uint64_t odd_since;

static void keep_start(void) {
    const struct config *now = config();
    if (kept)
        return;
    kept = true;
    started_mode = now->mode;
    started_window = now->window_us;
    in_force = (struct stats_control){.version = CONTROL_VERSION, .mode = CONTROL_KEEP};
    in_force.arm_count = now->arms.count;
    in_force.assignment = now->arms.assignment;
    in_force.seed = now->arms.seed;
    memcpy(in_force.arm_mode, now->arms.mode, sizeof(in_force.arm_mode));
    memcpy(in_force.arm_weight, now->arms.weight, sizeof(in_force.arm_weight));
}

void control_begins(struct stats_file *s) {
    keep_start();
    in_force.sequence = 0;
    STORE(&control_seen, 0);
    s->control = in_force;
}

static void warn(const char *wrong) {
    static bool told;
    if (told)
        return;
    told = true;
    log_line("the control block of the statistics file holds %s; ignored", wrong);
}

static void look_at_unfinished(uint32_t sequence) {
    uint64_t now = clock_now();
    if (sequence != odd) {
        odd = sequence;
        odd_since = now;
    } else if (now - odd_since > UNFINISHED_NS) {
        warn("an unfinished write");
    }
}

/* False: a seccomp filter was installed meanwhile, or another thread was first. */
static bool publish(const struct stats_control *c) {
    const struct config *seen = config();
    struct config next = *seen;
    struct arms arms = {c->arm_count, c->assignment, c->seed, {0}, {0}};
    memcpy(arms.mode, c->arm_mode, sizeof(arms.mode));
    memcpy(arms.weight, c->arm_weight, sizeof(arms.weight));
    next.mode = c->mode == CONTROL_KEEP ? started_mode : (enum mode)c->mode;
    next.window_us = c->window_us ? c->window_us : started_window;
    next.killed = c->killed != 0;
    if (!arms_equal(&arms, &next.arms)) {
        next.arms = arms;
        next.experiment++;
    }
    return !seen->no_syscalls && config_publish(seen, &next);
}

/* True: another configuration is in force. */
static bool adopt(struct stats_file *s) {
    struct stats_control c;
    if (stats_control_read(&s->control, &c) != 0) {
        look_at_unfinished(LOAD(&s->control.sequence));
        return false;
    }
    STORE(&control_seen, c.sequence);
    const char *wrong = stats_control_wrong(&c);
    if (wrong) {
        warn(wrong);
        return false;
    }
    in_force = c;
    while (!publish(&c))
        if (config()->no_syscalls)
            return false;
    return true;
}

bool control_look(uint32_t *sequence) {
    struct stats_file *s = stats_file_now();
    if (!s || config()->no_syscalls || !spin_trylock(&lock))
        return false;
    bool adopted = adopt(s);
    *sequence = control_seen;
    spin_unlock(&lock);
    return adopted;
}

void control_is_in_force(uint32_t sequence) {
    struct stats_file *s = stats_file_now();
    const struct config *now = config();
    if (!s)
        return;
    STORE(&s->header.mode, (uint32_t)(now->killed ? MODE_OFF : now->mode));
    STORE(&s->header.window_us, now->window_us);
    STORE_RELEASE(&s->header.control_seen, sequence);
}
