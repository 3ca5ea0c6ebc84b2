/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "format.h"
#include "process_facts.h"
#include "report_facts.h"

/* True if $PATH finds the program by the last part of its path. */
static bool is_in_path(const char *program) {
    const char *slash = strrchr(program, '/'), *list = getenv("PATH");
    size_t length = slash ? (size_t)(slash - program) : 0;
    while (list && length) {
        size_t n = strcspn(list, ":");
        if (n == length && memcmp(list, program, n) == 0)
            return true;
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

const struct reader_file *report_heaviest(const struct stats_files *s, const struct reader_row *at) {
    const struct reader_file *best = s->list[0];
    uint64_t most = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct reader_row *row = at ? row_in(s->list[i], at) : NULL;
        uint64_t lost = row ? lost_ns(&row->tally) + row->tally.counter[COUNT_PEER_STALL_NS] : 0;
        uint64_t done = row ? row->tally.counter[COUNT_MESSAGES] + 1 : 0;
        uint64_t weight = lost ? lost + (UINT64_C(1) << 62) : done;
        if (weight > most) {
            best = s->list[i];
            most = weight;
        }
    }
    return best;
}

void report_program(struct prose *p, const struct report *r, const struct reader_file *process) {
    char name[64];
    prose_add(p, " --");
    if (r->argv) {
        for (size_t i = 0; r->argv[i]; i++)
            prose_add_word(p, r->argv[i]);
    } else if (process->life != LIFE_RUNS || !process_command(p, (pid_t)process->header.pid)) {
        const char *path = process->header.program;
        prose_add_word(p, is_in_path(path) ? base_text(path, name, sizeof(name)) : path);
        prose_add(p, " ...");
    }
}

bool report_next(struct prose *p, const struct report *r, const struct report_verdict *v) {
    static const char *const options[] = {
        [FOUND_STALLS] = "unstall run --mode auto",
        [FOUND_PEER_STALLS] = "unstall run --quickack auto",
        [FOUND_CURED] = "unstall ab",
        [FOUND_SUSPECTED] = "unstall ab",
        [FOUND_UNSEEN] = NULL,
        [FOUND_APPLICATION] = NULL,
        [FOUND_NO_STALL] = NULL,
        [FOUND_NOT_LOOKED] = "unstall observe",
        [FOUND_NOTHING] = NULL,
    };
    if (!options[v->found] || (v->found == FOUND_STALLS && v->past))
        return false;
    bool cures = v->found == FOUND_STALLS && stats_mode_cures(v->row->id.mode);
    const char *command = options[cures ? FOUND_CURED : v->found];
    const struct reader_file *process = report_heaviest(r->files, v->row);
    const bool runs = process->life == LIFE_RUNS;
    /* a server does not end by itself, as each run of an experiment must */
    const bool live = (cures || v->found == FOUND_CURED || v->found == FOUND_SUSPECTED) &&
                      v->row->id.role == ROLE_LISTENER;
    if (runs && v->found == FOUND_NOT_LOOKED) {
        prose_add(p, process->control.killed ? "unstall set --unkill %u" : "unstall set %u observe",
                  process->header.pid);
    } else if (runs && live) {
        prose_add(p, "unstall ab --live %u", process->header.pid);
    } else {
        prose_add(p, "%s%s", command, live ? " --live" : "");
        report_program(p, r, process);
    }
    return true;
}
