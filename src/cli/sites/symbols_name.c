/* SPDX-License-Identifier: MIT
 *
 * The name of an address: module, function, line.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "demangle.h"
#include "format.h"
#include "symbols_parts.h"

/* ---- kinds of code --------------------------------------------------- */

static bool begins(const char *name, const char *const *with, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, with[i], strlen(with[i])) == 0)
            return true;
    return false;
}

static bool is_libc(const char *name) {
    static const char *const names[] = {"libc.so", "libc-2",  "libpthread", "ld-linux",
                                        "ld-2",    "ld-musl", "libc.musl"};
    return begins(name, names, ARRAY_SIZE(names));
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
    return begins(name, names, ARRAY_SIZE(names));
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
    Dwarf_Die *scopes = NULL;
    int count = dwarf_getscopes(unit, address, &scopes);
    bool found = false;
    for (int i = 0; i < count && !found; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine
                               ? dwarf_diename(&scopes[i])
                               : NULL;
        if (name) {
            set_function(f, module, name);
            found = true;
        }
    }
    free(scopes);
    return found;
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

void symbols_name(struct symbols *s, uint64_t pc, struct frame *f) {
    memset(f, 0, sizeof(*f));
    f->pc = pc;
    const struct symbols_module *m = symbols_module_at(s, pc);
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
