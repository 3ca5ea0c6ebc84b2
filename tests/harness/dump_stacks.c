/* SPDX-License-Identifier: MIT
 *
 * Prints the writers of the pieces from a statistics file: patterns with their occurrences, and
 * modules.  Straight from the format's header.  Usage: dump_stacks FILE
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "../../src/stats_file/stats_format.h"

static void hex(const uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        printf("%02x", bytes[i]);
}

static void print_write(const struct stats_write *w) {
    printf("{\"bytes\": %" PRIu64 ", \"when_ns\": %" PRIu64 ", \"thread\": %u, \"fd\": %u, \"registers\": [",
           w->bytes, w->when_ns, w->thread, w->fd);
    for (uint32_t i = 0; i < w->register_count && i < STATS_REGISTERS; i++)
        printf("%s%" PRIu64, i ? ", " : "", w->registers[i]);
    printf("], \"stack\": \"");
    hex(w->stack, w->stack_bytes <= STATS_STACK ? w->stack_bytes : 0);
    printf("\"}");
}

static void print_pattern(const struct stats_pattern *p) {
    const char *comma = "";
    printf("{\"row\": %u, \"caller\": [%" PRIu64 ", %" PRIu64 "], \"count\": %" PRIu64
           ", \"stalls\": %" PRIu64 ", \"stall_ns\": %" PRIu64 ", \"occurrences\": [",
           p->row, p->caller[0], p->caller[1], p->count, p->stalls, p->stall_ns);
    for (int i = 0; i < STATS_OCCURRENCES; i++) {
        if (p->occurrence[i].state != STATS_VALID)
            continue;
        printf("%s[", comma);
        print_write(&p->occurrence[i].write[0]);
        printf(", ");
        print_write(&p->occurrence[i].write[1]);
        printf("]");
        comma = ",\n";
    }
    printf("]}");
}

static void print_module(const struct stats_module *m) {
    printf("{\"start\": %" PRIu64 ", \"end\": %" PRIu64 ", \"offset\": %" PRIu64
           ", \"path\": \"%s\", \"head\": %" PRIu64 "}",
           m->start, m->end, m->offset, m->path, m->head);
}

int main(int argc, char **argv) {
    static struct stats_file s;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || read(fd, &s, sizeof(s)) != (ssize_t)sizeof(s)) {
        fprintf(stderr, "dump_stacks: cannot read a statistics file\n");
        return 1;
    }
    const char *comma = "";
    printf("{\"stacks_off\": %u, \"lost_patterns\": %" PRIu64 ", \"patterns\": [",
           s.header.stacks_off, s.header.lost_patterns);
    for (int i = 0; i < STATS_PATTERNS; i++) {
        if (s.pattern[i].state != STATS_VALID)
            continue;
        printf("%s", comma);
        print_pattern(&s.pattern[i]);
        comma = ",\n";
    }
    comma = "";
    printf("],\n\"modules\": [");
    for (int i = 0; i < STATS_MODULES; i++) {
        if (s.module[i].state != STATS_VALID)
            continue;
        printf("%s", comma);
        print_module(&s.module[i]);
        comma = ",\n";
    }
    printf("]}\n");
    return 0;
}
