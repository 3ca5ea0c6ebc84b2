/* SPDX-License-Identifier: MIT
 *
 * Prints a statistics file as JSON, straight from the format's header, so
 * that the tests of the writer need nothing of the command.
 *
 * Usage: dump_stats_file FILE
 *        dump_stats_file FILE set NAME=NUMBER...   writes the control block: mode, window_us,
 *            killed, arm_count, assignment, seed, mode0.., weight0.., version, garbage (sequence
 *            stays odd)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/stats_file/reader.h"
#include "../../src/stats_file/control.c"
#include "../../src/stats_file/control_write.c"

static const char *const names[] = {
#define NAME(constant, name, what) #name,
    STATS_COUNTERS_OF(NAME)
#undef NAME
};

static void die(const char *what) {
    fprintf(stderr, "dump_stats_file: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void address(const char *name, const struct stats_address *a) {
    printf("\"%s\": {\"family\": %u, \"port\": %u, \"bytes\": \"", name, a->family, a->port);
    for (int i = 0; i < 16; i++)
        printf("%02x", a->address[i]);
    printf("\"}");
}

static void histogram(const char *name, const struct stats_shard *shards, int which) {
    printf(", \"%s\": [", name);
    const char *comma = "";
    for (unsigned b = 0; b < HISTOGRAM_BUCKETS; b++) {
        uint64_t n = 0;
        for (int i = 0; i < STATS_SHARDS; i++)
            n += which ? shards[i].answer[b] : shards[i].exchange[b];
        if (n)
            printf("%s[%" PRIu64 ", %" PRIu64 "]", comma, histogram_lowest(b, HISTOGRAM_STEPS), n);
        if (n)
            comma = ", ";
    }
    printf("]");
}

static void rows(const struct stats_file *s) {
    const char *comma = "";
    printf(", \"rows\": [");
    for (int r = 0; r < STATS_ROWS; r++) {
        const struct stats_row *row = &s->row[r];
        if (row->state != STATS_VALID)
            continue;
        printf("%s{\"index\": %d, \"role\": %u, \"arm\": %u, \"mode\": %u, ", comma, r, row->role,
               row->arm, row->mode);
        address("endpoint", &row->endpoint);
        for (int c = 0; c < STATS_COUNTERS; c++) {
            uint64_t n = 0;
            for (int i = 0; i < STATS_SHARDS; i++)
                n += STATS_COUNTER(&s->shard[r][i], c);
            printf(", \"%s\": %" PRIu64, names[c], n);
        }
        histogram("exchange", s->shard[r], 0);
        histogram("answer", s->shard[r], 1);
        printf("}");
        comma = ",\n";
    }
    printf("]");
}

static void connections(const struct stats_file *s) {
    const char *comma = "";
    printf(", \"records\": [");
    for (int i = 0; i < STATS_CONNECTIONS; i++) {
        const struct stats_connection *c = &s->connection[i];
        if (c->state != STATS_VALID)
            continue;
        uint64_t coarse = 0;
        for (int b = 0; b < COARSE_BUCKETS; b++)
            coarse += c->exchange[b];
        printf("%s{\"row\": %u, \"serial\": %" PRIu64 ", \"opened_ns\": %" PRIu64
               ", \"ended_ns\": %" PRIu64 ", ",
               comma, c->row, c->serial, c->opened_ns, c->ended_ns);
        address("peer", &c->peer);
        printf(", ");
        address("local", &c->local);
        printf(", \"arm\": %u, \"mode\": %u, \"first_write_us\": %u, \"exchanges\": %" PRIu64
               ", \"exchange_ns\": %" PRIu64 ", \"exchange_longest_ns\": %" PRIu64
               ", \"messages\": %" PRIu64 ", \"bursts\": %" PRIu64 ", \"writes\": %" PRIu64
               ", \"bytes\": %" PRIu64 ", \"segments\": %" PRIu64 ", \"coarse\": %" PRIu64 "}",
               c->arm, c->mode, c->first_write_us, c->exchanges, c->exchange_ns,
               c->exchange_longest_ns, c->messages, c->bursts, c->writes, c->bytes, c->segments,
               coarse);
        comma = ",\n";
    }
    printf("]");
}

static void control(const struct stats_control *c) {
    printf(", \"control\": {\"version\": %u, \"sequence\": %u, \"mode\": %u, \"window_us\": %u, "
           "\"arm_count\": %u, \"assignment\": %u, \"seed\": %" PRIu64 ", \"killed\": %u, "
           "\"arms\": [",
           c->version, c->sequence, c->mode, c->window_us, c->arm_count, c->assignment, c->seed,
           c->killed);
    for (unsigned i = 0; i < c->arm_count && i < STATS_ARMS; i++)
        printf("%s[%u, %u]", i ? ", " : "", c->arm_mode[i], c->arm_weight[i]);
    printf("]}");
}

static void dump(const struct stats_file *s) {
    const struct stats_header *h = &s->header;
    printf("{\"magic\": \"%.8s\", \"version\": %u, \"header_bytes\": %u, \"bytes\": %" PRIu64
           ", \"started_ns\": %" PRIu64 ", \"ended_monotonic_ns\": %" PRIu64
           ", \"pid\": %u, \"parent\": %u, \"mode\": %u, \"control_seen\": %u, \"window_us\": %u, "
           "\"machine\": %u, \"lost_connections\": %" PRIu64 ", \"lost_rows\": %" PRIu64
           ", \"program\": \"%s\", \"library\": \"%s\"",
           h->magic, h->version, h->header_bytes, h->bytes, h->started_ns, h->ended_monotonic_ns,
           h->pid, h->parent, h->mode, h->control_seen, h->window_us, h->machine,
           h->lost_connections, h->lost_rows, h->program, h->library);
    control(&s->control);
    rows(s);
    connections(s);
    printf("}\n");
}

static uint32_t *field(struct stats_control *c, const char *name) {
    if (strncmp(name, "weight", 6) == 0)
        return &c->arm_weight[atoi(name + 6) % STATS_ARMS];
    return strcmp(name, "mode") == 0         ? &c->mode
           : strcmp(name, "window_us") == 0  ? &c->window_us
           : strcmp(name, "killed") == 0     ? &c->killed
           : strcmp(name, "arm_count") == 0  ? &c->arm_count
           : strcmp(name, "assignment") == 0 ? &c->assignment
           : strcmp(name, "version") == 0    ? &c->version
                                             : NULL;
}

/* Writes, past the checks of stats_control_write(), the block that a bad tool may write. */
static void write_raw(struct stats_file *s, const struct stats_control *c, int odd) {
    uint32_t sequence = s->control.sequence | 1;
    __atomic_store_n(&s->control.sequence, sequence, __ATOMIC_SEQ_CST);
    struct stats_control next = *c;
    next.sequence = sequence;
    memcpy(&s->control, &next, sizeof(next));
    if (!odd)
        __atomic_store_n(&s->control.sequence, sequence + 1, __ATOMIC_SEQ_CST);
}

static void set(int fd, struct stats_file *s, char **pairs) {
    struct stats_control c;
    int garbage = 0;
    if (stats_control_read(&s->control, &c) != 0)
        c = s->control;
    for (; *pairs; pairs++) {
        char name[32];
        unsigned long long value;
        if (sscanf(*pairs, "%31[a-z0-9_]=%llu", name, &value) != 2)
            die(*pairs);
        if (strcmp(name, "garbage") == 0)
            garbage = 1;
        else if (strcmp(name, "seed") == 0)
            c.seed = value;
        else if (strncmp(name, "mode", 4) == 0 && name[4])
            c.arm_mode[atoi(name + 4) % STATS_ARMS] = (uint8_t)value;
        else if (field(&c, name))
            *field(&c, name) = (uint32_t)value;
        else
            die(name);
    }
    if (garbage || stats_control_wrong(&c)) {
        write_raw(s, &c, garbage);
        printf("%u\n", s->control.sequence);
        return;
    }
    int64_t sequence = stats_control_write(fd, &c);
    if (sequence < 0)
        die("stats_control_write");
    printf("%" PRId64 "\n", sequence);
}

int main(int argc, char **argv) {
    struct stat st;
    int fd = argc > 1 ? open(argv[1], argc > 2 ? O_RDWR : O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size != STATS_BYTES)
        die(argc > 1 ? argv[1] : "no file");
    if (argc > 2) {
        struct stats_file *s = mmap(NULL, STATS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (s == MAP_FAILED)
            die("mmap");
        set(fd, s, argv + 3);
        return 0;
    }
    /* reading a hole through a mapping would fill it with a page */
    static struct stats_file copy;
    if (read(fd, &copy, sizeof(copy)) != (ssize_t)sizeof(copy))
        die("read");
    dump(&copy);
    return 0;
}
