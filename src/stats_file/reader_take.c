/* SPDX-License-Identifier: MIT
 *
 * The snapshot: valid entries are copied, and the copies are corrected.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "reader_parts.h"

bool reader_make_room(struct reader_file *r, unsigned want) {
    if (want & READ_ROWS && !(r->rows = calloc(STATS_ROWS, sizeof(*r->rows))))
        return false;
    if (want & READ_CONNECTIONS &&
        !(r->connections = calloc(STATS_CONNECTIONS, sizeof(*r->connections))))
        return false;
    if (want & READ_PATTERNS && (!(r->modules = calloc(STATS_MODULES, sizeof(*r->modules))) ||
                                 !(r->patterns = calloc(STATS_PATTERNS, sizeof(*r->patterns)))))
        return false;
    return true;
}

/* Limits a number of the file to its room, and counts the correction. */
#define AT_MOST(r, value, most) \
    do {                        \
        if ((value) > (most)) { \
            (value) = (most);   \
            (r)->oddities++;    \
        }                       \
    } while (0)

static void end_string(char *text, size_t size) {
    text[size - 1] = '\0';
    size_t length = strlen(text);
    memset(text + length, 0, size - length);
}

static uint32_t state_of(const uint32_t *state) {
    return __atomic_load_n(state, __ATOMIC_ACQUIRE);
}

/* ---- rows ------------------------------------------------------------ */

static void sound_address(struct reader_file *r, struct stats_address *a) {
    a->unused = 0;
    if (a->family == AF_INET) {
        memset(a->address + 4, 0, sizeof(a->address) - 4);
    } else if (a->family != AF_INET6) {
        if (a->family)
            r->oddities++;
        memset(a, 0, sizeof(*a));
    }
}

static void sound_kind(struct reader_file *r, uint8_t *arm, uint8_t *mode) {
    if (*arm != 0xff && *arm >= STATS_ARMS) {
        *arm = 0xff;
        r->oddities++;
    }
    AT_MOST(r, *mode, STATS_MODES);
}

static void take_rows(struct reader_file *r, const struct stats_file *s) {
    for (unsigned i = 0; i < STATS_ROWS; i++) {
        if (s->row[i].state != STATS_VALID)
            continue;
        struct reader_row *row = &r->rows[r->row_count];
        memset(row, 0, sizeof(*row));
        row->index = i;
        row->id = s->row[i];
        row->id.unused = 0;
        AT_MOST(r, row->id.role, ROLE_DESTINATION);
        sound_kind(r, &row->id.arm, &row->id.mode);
        sound_address(r, &row->id.endpoint);
        for (unsigned k = 0; k < STATS_SHARDS; k++)
            reader_add_shard(&row->tally, &s->shard[i][k]);
        r->row_count++;
    }
}

/* ---- connections ----------------------------------------------------- */

static bool sound_connection(struct reader_file *r, struct stats_connection *c) {
    if (c->serial == 0 || c->row >= STATS_ROWS) {
        r->oddities++;
        return false;
    }
    sound_kind(r, &c->arm, &c->mode);
    sound_address(r, &c->peer);
    sound_address(r, &c->local);
    return true;
}

static int by_serial(const void *a, const void *b) {
    uint64_t x = ((const struct stats_connection *)a)->serial;
    uint64_t y = ((const struct stats_connection *)b)->serial;
    return x < y ? -1 : x > y;
}

static void take_connections(struct reader_file *r, const struct stats_file *s,
                             const struct stats_file *shared) {
    for (unsigned i = 0; i < STATS_CONNECTIONS; i++) {
        if (s->connection[i].state != STATS_VALID)
            continue;
        struct stats_connection *c = &r->connections[r->connection_count];
        *c = s->connection[i];
        /* While it was copied, the record may have been given to another connection. */
        if (state_of(&shared->connection[i].state) != STATS_VALID ||
            __atomic_load_n(&shared->connection[i].serial, __ATOMIC_ACQUIRE) != c->serial)
            continue;
        if (sound_connection(r, c))
            r->connection_count++;
    }
    qsort(r->connections, r->connection_count, sizeof(*r->connections), by_serial);
}

/* ---- call sites ------------------------------------------------------ */

static void take_modules(struct reader_file *r, const struct stats_file *s) {
    for (unsigned i = 0; i < STATS_MODULES; i++) {
        if (s->module[i].state != STATS_VALID)
            continue;
        struct stats_module *m = &r->modules[r->module_count];
        *m = s->module[i];
        end_string(m->path, sizeof(m->path));
        if (m->start >= m->end)
            r->oddities++;
        else
            r->module_count++;
    }
}

static void sound_pattern(struct reader_file *r, struct stats_pattern *p) {
    if (p->row >= STATS_ROWS) {
        p->row = 0;
        r->oddities++;
    }
    for (unsigned i = 0; i < STATS_OCCURRENCES; i++) {
        if (p->occurrence[i].state != STATS_VALID) {
            memset(&p->occurrence[i], 0, sizeof(p->occurrence[i]));
            continue;
        }
        for (unsigned k = 0; k < 2; k++) {
            AT_MOST(r, p->occurrence[i].write[k].stack_bytes, STATS_STACK);
            AT_MOST(r, p->occurrence[i].write[k].register_count, STATS_REGISTERS);
        }
    }
}

static void take_patterns(struct reader_file *r, const struct stats_file *s) {
    for (unsigned i = 0; i < STATS_PATTERNS; i++) {
        if (s->pattern[i].state != STATS_VALID)
            continue;
        struct stats_pattern *p = &r->patterns[r->pattern_count++];
        *p = s->pattern[i];
        sound_pattern(r, p);
    }
}

/* ---- all ------------------------------------------------------------- */

void reader_take(struct reader_file *r, const struct stats_file *s, const struct stats_file *shared,
                 unsigned want) {
    r->header = s->header;
    end_string(r->header.program, sizeof(r->header.program));
    end_string(r->header.library, sizeof(r->header.library));
    AT_MOST(r, r->header.mode, STATS_MODES);
    r->control = s->control;
    AT_MOST(r, r->control.arm_count, STATS_ARMS);
    if (want & READ_ROWS)
        take_rows(r, s);
    if (want & READ_CONNECTIONS)
        take_connections(r, s, shared);
    if (want & READ_PATTERNS) {
        take_patterns(r, s);
        take_modules(r, s);
    }
}
