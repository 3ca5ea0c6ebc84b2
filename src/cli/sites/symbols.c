/* SPDX-License-Identifier: MIT */
#include "symbols.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "closing.h"
#include "demangle.h"
#include "format.h"
#include "perf_map.h"
#include "process_stat.h"

struct symbols_module {
    const struct stats_module *recorded;
    enum file_state file;
    bool program; /* the executable itself */
};

struct symbols {
    const struct reader_file *file;
    Dwfl *dwfl;
    struct perf_map *map; /* NULL: the runtime has written none */
    const struct stats_write *now; /* the write that is being unwound */
    unsigned module_count;
    struct symbols_module module[STATS_MODULES];
};

/* ---- the files that the process had mapped ---------------------------- */

/* A statistics file may name any path: only a regular file is opened, and without waiting.  Files of /proc
 * count as regular, but have no size. */
static int open_file(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_same(int fd, const struct stats_module *m) {
    uint8_t head[STATS_HEAD] = {0};
    return pread(fd, head, sizeof(head), 0) > 0 && stats_hash(0, head, sizeof(head)) == m->head;
}

/* The offset from addresses in the file to addresses in the process.  False: no executable part of the file
 * fits the mapping. */
static bool bias_of(Elf *elf, const struct stats_module *m, uint64_t *bias) {
    size_t count = 0;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    GElf_Phdr p;
    if (elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        uint64_t first = p.p_offset & ~(page - 1);
        if (m->offset < first || m->offset >= p.p_offset + p.p_filesz)
            continue;
        *bias = m->start - (p.p_vaddr - p.p_offset + m->offset);
        return true;
    }
    return false;
}

/* Gives the file to libdwfl, if it is the right one. */
static enum file_state report_file(struct symbols *s, const struct stats_module *m,
                                   const char *path) {
    int fd = open_file(path);
    if (fd < 0)
        return FILE_MISSING;
    enum file_state state = FILE_CHANGED;
    uint64_t bias = 0;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    bool good = elf && is_same(fd, m) && bias_of(elf, m, &bias);
    elf_end(elf);
    if (good && dwfl_report_elf(s->dwfl, m->path, path, fd, bias, true))
        return FILE_SAME; /* fd belongs to libdwfl now */
    close(fd);
    return state;
}

static enum file_state find_file(struct symbols *s, const struct stats_module *m) {
    char path[STATS_PATH + 64];
    if (m->path[0] != '/')
        return FILE_MISSING; /* [vdso], or a path that was cut ("...") */
    enum file_state state = report_file(s, m, m->path);
    if (state == FILE_SAME || s->file->life != LIFE_RUNS)
        return state;
    /* The process may live in another mount namespace. */
    snprintf(path, sizeof(path), "/proc/%u/root%s", s->file->header.pid, m->path);
    return report_file(s, m, path) == FILE_SAME ? FILE_SAME : state;
}

/* Several executable mappings of one file are one module to libdwfl. */
static const struct symbols_module *reported(const struct symbols *s,
                                             const struct stats_module *m) {
    for (unsigned i = 0; i < s->module_count; i++)
        if (strcmp(s->module[i].recorded->path, m->path) == 0)
            return &s->module[i];
    return NULL;
}

/* Reports the modules' files to libdwfl. */
static void report_modules(struct symbols *s) {
    const struct reader_file *r = s->file;
    dwfl_report_begin(s->dwfl);
    for (size_t i = 0; i < r->module_count; i++) {
        const struct stats_module *m = &r->modules[i];
        const struct symbols_module *before = reported(s, m);
        struct symbols_module *module = &s->module[s->module_count++];
        module->recorded = m;
        module->program = strcmp(m->path, r->header.program) == 0 || /* else a link has started it */
                          files_are(m->path, r->header.program) == FILES_ARE_ONE;
        module->file = before ? before->file : find_file(s, m);
    }
    dwfl_report_end(s->dwfl, NULL, NULL);
}

/* The module that has this address, or NULL. */
static const struct symbols_module *module_at(const struct symbols *s, uint64_t pc) {
    for (unsigned i = 0; i < s->module_count; i++)
        if (pc >= s->module[i].recorded->start && pc < s->module[i].recorded->end)
            return &s->module[i];
    return NULL;
}

/* ---- kinds of code --------------------------------------------------- */

static bool is_libc(const char *name) {
    static const char *const names[] = {"libc.so", "libc-2",  "libpthread", "ld-linux",
                                        "ld-2",    "ld-musl", "libc.musl"};
    return begins_with_any(name, names, ARRAY_SIZE(names));
}

bool is_interpreter(const char *name) {
    static const char *const names[] = {
        "python",  "libpython", "perl",    "libperl",    "ruby",
        "libruby", "java",      "libjvm",  "libjava",    "libnet.so",
        "libnio",  "node",      "libnode", "php",        "libphp",
        "lua",     "liblua",    "tclsh",   "libtcl",     "wish",
        "beam",    "mono",      "dotnet",  "libcoreclr", "libSystem.Native",
        "Rscript", "libR.so",   "guile",   "libguile",   "escript",
        "ocamlrun"};
    return begins_with_any(name, names, ARRAY_SIZE(names));
}

/* A script's extension module in C counts as the interpreter. */
static bool is_extension(const char *path) {
    return strstr(path, "/lib-dynload/") || strstr(path, ".cpython-") ||
           strstr(path, "/perl-base/") || strstr(path, "/perl/") || strstr(path, "/ruby/");
}

static enum frame_kind kind_of(const struct symbols_module *m, const char *name) {
    if (strncmp(name, "libunstall", 10) == 0)
        return FRAME_OURS;
    if (is_libc(name))
        return FRAME_LIBC;
    if (is_interpreter(name) || is_extension(m->recorded->path))
        return FRAME_INTERPRETER;
    return m->program ? FRAME_PROGRAM : FRAME_LIBRARY;
}

const char *frame_kind_name(enum frame_kind kind) {
    static const char *const names[] = {
        [FRAME_PROGRAM] = "program",
        [FRAME_LIBRARY] = "library",
        [FRAME_INTERPRETER] = "interpreter",
        [FRAME_SCRIPT] = "script",
        [FRAME_NO_MODULE] = "no-module",
        [FRAME_LIBC] = "libc",
        [FRAME_OURS] = "libunstall",
    };
    return names[kind];
}

/* ---- names ------------------------------------------------------------ */

/* A program in Nim has this function. */
static bool is_of_nim(Dwfl_Module *module) {
    int count = dwfl_module_getsymtab(module);
    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        const char *name = dwfl_module_getsym(module, i, &symbol, NULL);
        if (name && strcmp(name, "NimMain") == 0)
            return true;
    }
    return false;
}

static void set_function(struct frame *f, Dwfl_Module *module, const char *name) {
    demangle(name, is_nim_name(name) && is_of_nim(module), f->function, sizeof(f->function));
}

/* The compilation unit of an address.  libdwfl looks it up in .debug_aranges, which clang does not write:
 * then all units are searched. */
static Dwarf_Die *unit_of(Dwfl_Module *module, uint64_t pc, Dwarf_Addr *bias) {
    Dwarf_Die *unit = dwfl_module_addrdie(module, pc, bias);
    if (unit)
        return unit;
    while ((unit = dwfl_module_nextcu(module, unit, bias)) != NULL)
        if (dwarf_haspc(unit, pc - *bias) == 1)
            return unit;
    return NULL;
}

/* The innermost function at an address, also if it was inlined, because its source has the call. */
static bool name_by_dwarf(Dwfl_Module *module, Dwarf_Die *unit, Dwarf_Addr address, struct frame *f) {
    FREED Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes(unit, address, &scopes);
    for (int i = 0; i < count; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine
                               ? dwarf_diename(&scopes[i])
                               : NULL;
        if (name) {
            set_function(f, module, name);
            return true;
        }
    }
    return false;
}

static void name_by_table(Dwfl_Module *module, uint64_t pc, struct frame *f) {
    GElf_Sym symbol;
    GElf_Off offset;
    const char *name = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
    if (!name)
        return;
    /* An address beyond the symbol's size belongs to another, static function. */
    if (symbol.st_size == 0 || offset < symbol.st_size)
        set_function(f, module, name);
}

static void name_code(struct symbols *s, uint64_t pc, struct frame *f) {
    memset(f, 0, sizeof(*f));
    f->pc = pc;
    const struct symbols_module *m = module_at(s, pc);
    if (!m) {
        if (!perf_map_find(s->map, pc, f))
            f->kind = FRAME_NO_MODULE;
        return;
    }
    base_text(m->recorded->path, f->module, sizeof(f->module));
    f->kind = kind_of(m, f->module);
    f->file = m->file;
    f->offset = pc - m->recorded->start + m->recorded->offset;
    Dwfl_Module *module = m->file == FILE_SAME ? dwfl_addrmodule(s->dwfl, pc) : NULL;
    GElf_Addr bias = 0;
    if (module && dwfl_module_getelf(module, &bias))
        f->offset = pc - bias;
    if (!module || f->kind == FRAME_OURS || f->kind == FRAME_LIBC)
        return;
    Dwarf_Die *unit = unit_of(module, pc, &bias);
    if (!unit || !name_by_dwarf(module, unit, pc - bias, f))
        name_by_table(module, pc, f);
    Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, pc - bias) : NULL;
    const char *source = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    if (source && dwarf_lineno(line, &f->line) == 0)
        base_text(source, f->source, sizeof(f->source));
    if (f->kind == FRAME_PROGRAM && strncmp(f->function, "__libc_", 7) == 0)
        f->kind = FRAME_LIBC; /* a static program has libc's functions in itself */
}

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
    report_modules(s);
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
    name_code(s, pc, f);
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
