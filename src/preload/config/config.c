/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "clock.h"
#include "log.h"

enum { CONFIG_SNAPSHOTS = 64, ENVIRONMENT_COPY = 8192 };

static struct config snapshots[CONFIG_SNAPSHOTS];
static uint32_t last_epoch = 1;
const struct config *config_now = &snapshots[0];

void config_defaults(struct config *c) {
    memset(c, 0, sizeof(*c));
    c->mode = MODE_AUTO;
    c->children = true;
    c->stacks = true;
    c->window_us = WINDOW_DEFAULT_US;
    c->small = SMALL_DEFAULT;
}

/* ---- the environment ------------------------------------------------- */

static void warn(const char *name, const char *value, enum config_result result,
                 const char *expected) {
    const char *form =
        result == CONFIG_BAD
            ? "%s=%v: expected %s; using the default"
            : "%s=%v: no such variable; expected a name listed in libunstall(7); ignored";
    log_line(form, name, value, expected);
}

/* A name that is too long for `name` is cut: no known name is that long. */
static bool split(const char *entry, char *name, size_t size, const char **value) {
    const char *equals = strchr(entry, '=');
    if (!equals)
        return false;
    size_t length = (size_t)(equals - entry);
    if (length >= size)
        length = size - 1;
    memcpy(name, entry, length);
    name[length] = '\0';
    *value = equals + 1;
    return true;
}

/* Copies a string, because the program may change its environment later. */
static const char *keep(const char *value) {
    static char copies[ENVIRONMENT_COPY];
    static size_t used;
    size_t n = strlen(value) + 1;
    if (n > sizeof(copies) - used)
        return NULL;
    char *copy = memcpy(copies + used, value, n);
    used += n;
    return copy;
}

static bool may_buffer(const struct config *c) {
    bool buffers = c->mode == MODE_COALESCE;
    for (uint32_t i = 0; i < c->arms.count; i++)
        buffers |= c->arms.mode[i] == MODE_COALESCE;
    return buffers;
}

void config_load(char **environment, const char *program) {
    struct config *c = &snapshots[1];
    config_defaults(c);
    c->program = program;
    /* UNSTALL_LOG first, so that warnings about other variables go there */
    for (int pass = 0; pass < 2; pass++)
        for (char **e = environment; e && *e; e++) {
            char name[64];
            const char *value, *expected = NULL;
            if (strncmp(*e, "UNSTALL_", 8) != 0 || !split(*e, name, sizeof(name), &value) ||
                (strcmp(name, "UNSTALL_LOG") == 0) != (pass == 0))
                continue;
            const char *kept = keep(value);
            enum config_result result = kept ? config_set(c, name, kept, &expected) : CONFIG_BAD;
            if (result == CONFIG_OK && pass == 0)
                log_use(c->log);
            if (result != CONFIG_OK)
                warn(name, value, result,
                     expected ? expected : "less than 8192 bytes in all variables together");
        }
    if (c->programs && !config_program_included(c->programs, program)) {
        c->mode = MODE_OFF;
        c->always_nodelay = false;
        c->report = c->stats = NULL;
        c->quickack = QUICKACK_OFF;
        c->arms.count = 0;
    }
    if (!c->seed_given)
        c->arms.seed = clock_now();
    c->buffers = may_buffer(c);
    c->epoch = last_epoch;
    STORE_RELEASE(&config_now, c);
}

bool config_publish(const struct config *seen, const struct config *next) {
    uint32_t epoch = __atomic_add_fetch(&last_epoch, 1, __ATOMIC_RELAXED);
    struct config *c = &snapshots[epoch % CONFIG_SNAPSHOTS];
    *c = *next;
    c->buffers = next->buffers || may_buffer(next);
    c->epoch = epoch;
    return __atomic_compare_exchange_n(&config_now, &seen, c, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

void config_kill(void) {
    const struct config *seen;
    struct config next;
    do {
        seen = config();
        next = *seen;
        next.killed = true;
    } while (!config_publish(seen, &next));
}

void config_switch(enum mode mode, bool no_syscalls) {
    const struct config *seen;
    struct config next;
    do {
        seen = config();
        next = *seen;
        next.mode = mode;
        next.no_syscalls = no_syscalls;
    } while (!config_publish(seen, &next));
}
