/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols_parts.h"

/* ---- the snapshot of a thread, as callbacks of libdwfl ---------------- */

struct machine {
    unsigned stack_pointer, program_counter; /* in the snapshot's registers */
    unsigned registers;                      /* given to libdwfl */
    bool counter_apart;                      /* DWARF has no number for the program counter */
};

static struct machine machine_of(const struct symbols *s) {
    if (s->file->header.machine == EM_AARCH64)
        return (struct machine){31, 32, 32, true};
    return (struct machine){7, 16, 17, false};
}

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread) {
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = context;
    return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t id, void *context, void **thread) {
    (void)dwfl, (void)id;
    *thread = context;
    return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context) {
    (void)dwfl;
    const struct symbols *s = context;
    const struct stats_write *w = s->now;
    uint64_t at = address - w->registers[machine_of(s).stack_pointer];
    if (w->stack_bytes < sizeof(*result) || at > w->stack_bytes - sizeof(*result))
        return false; /* the snapshot ends here, and so does the trace */
    memcpy(result, w->stack + at, sizeof(*result));
    return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context) {
    const struct symbols *s = context;
    struct machine m = machine_of(s);
    Dwarf_Word registers[STATS_REGISTERS];
    for (unsigned i = 0; i < STATS_REGISTERS; i++)
        registers[i] = s->now->registers[i];
    if (!dwfl_thread_state_registers(thread, 0, m.registers, registers))
        return false;
    if (m.counter_apart)
        dwfl_thread_state_register_pc(thread, registers[m.program_counter]);
    return true;
}

static const Dwfl_Thread_Callbacks callbacks = {
    .next_thread = next_thread,
    .get_thread = get_thread,
    .memory_read = memory_read,
    .set_initial_registers = set_registers,
};

/* ---- begin and end ---------------------------------------------------- */

struct symbols *symbols_begin(const struct reader_file *r) {
    static const Dwfl_Callbacks files = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
    };
    /* Without this variable libdwfl asks no server: a report must not disclose the programs of this host. */
    unsetenv("DEBUGINFOD_URLS");
    elf_version(EV_CURRENT);
    struct symbols *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->file = r;
    s->dwfl = dwfl_begin(&files);
    if (!s->dwfl) {
        free(s);
        return NULL;
    }
    symbols_modules(s);
    s->map = perf_map_open(r);
    /* Fails if no module's file was found: then only the return addresses are known. */
    (void)dwfl_attach_state(s->dwfl, NULL, 1, &callbacks, s);
    return s;
}

void symbols_end(struct symbols *s) {
    if (!s)
        return;
    perf_map_close(s->map);
    dwfl_end(s->dwfl);
    free(s);
}

/* ---- traces ------------------------------------------------------------ */

struct walk {
    struct symbols *symbols;
    struct trace *trace;
    unsigned steps;
};

static void add(struct symbols *s, struct trace *t, uint64_t pc) {
    struct frame *f = &t->frame[t->count];
    symbols_name(s, pc, f);
    if (f->kind != FRAME_OURS && f->kind != FRAME_LIBC)
        t->count++;
}

static int add_frame(Dwfl_Frame *state, void *context) {
    struct walk *w = context;
    Dwarf_Addr pc;
    bool is_activation = false;
    if (!dwfl_frame_pc(state, &pc, &is_activation))
        return DWARF_CB_ABORT;
    /* a return address may belong to the next line or function */
    add(w->symbols, w->trace, is_activation ? pc : pc - 1);
    /* a damaged stack may have a loop */
    return w->trace->count < FRAMES_MOST && ++w->steps < 4 * FRAMES_MOST ? DWARF_CB_OK
                                                                         : DWARF_CB_ABORT;
}

void symbols_trace(struct symbols *s, const struct stats_write *w, struct trace *trace) {
    struct walk walk = {.symbols = s, .trace = trace};
    trace->count = 0;
    if (w->register_count <= machine_of(s).program_counter)
        return;
    s->now = w;
    dwfl_getthread_frames(s->dwfl, 1, add_frame, &walk);
    s->now = NULL;
}

void symbols_caller(struct symbols *s, uint64_t address, struct trace *trace) {
    trace->count = 0;
    if (address)
        add(s, trace, address - 1);
}
