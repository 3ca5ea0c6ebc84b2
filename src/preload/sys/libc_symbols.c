/* SPDX-License-Identifier: MIT */
#include "real.h"

/* ---- the tables of a library ------------------------------------------- */

/* glibc has added the base to the addresses of the dynamic section on most processors, musl on none. */
static const void *at(uintptr_t base, uintptr_t address) {
    return (const void *)(address < base ? base + address : address);
}

static void read_hash(struct symbol_table *t, const uint32_t *hash) {
    t->bucket_count = hash[0];
    t->first_symbol = hash[1];
    t->bloom_words = hash[2];
    t->bloom_shift = hash[3];
    t->bloom = (const ElfW(Addr) *)(const void *)&hash[4];
    t->buckets = (const uint32_t *)(const void *)(t->bloom + t->bloom_words);
    t->chains = t->buckets + t->bucket_count;
}

/* False: a table is missing. */
static bool read_tables(struct symbol_table *t, uintptr_t base, const ElfW(Dyn) * dynamic) {
    *t = (struct symbol_table){.base = base};
    for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: t->symbols = at(base, d->d_un.d_ptr); break;
        case DT_STRTAB: t->strings = at(base, d->d_un.d_ptr); break;
        case DT_VERSYM: t->versions = at(base, d->d_un.d_ptr); break;
        case DT_VERDEF: t->version_names = at(base, d->d_un.d_ptr); break;
        case DT_VERDEFNUM: t->version_count = d->d_un.d_val; break;
        case DT_GNU_HASH: read_hash(t, at(base, d->d_un.d_ptr)); break;
        default: break;
        }
    return t->symbols && t->strings && t->bucket_count && t->bloom_words;
}

/* ---- the libraries ----------------------------------------------------- */

struct walk {
    struct symbol_table *next, *end;
    enum { BEFORE_US, BEHIND_US, COMPLETE, UNKNOWN } state;
};

static bool contains(const struct dl_phdr_info *o, uintptr_t address) {
    for (int i = 0; i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_LOAD &&
            address - (o->dlpi_addr + o->dlpi_phdr[i].p_vaddr) < o->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

static const ElfW(Dyn) * dynamic_section(const struct dl_phdr_info *o) {
    for (int i = 0; i < o->dlpi_phnum; i++)
        if (o->dlpi_phdr[i].p_type == PT_DYNAMIC)
            return (const ElfW(Dyn) *)(o->dlpi_addr + o->dlpi_phdr[i].p_vaddr);
    return NULL;
}

/* dl_iterate_phdr(3) lists the libraries in the order of loading.  For libraries loaded with the program that
 * is the search order; libraries of dlopen(3) come after libc. */
static int next_library(struct dl_phdr_info *o, size_t size, void *data) {
    (void)size;
    struct walk *walk = data;
    if (walk->state == BEFORE_US) {
        if (contains(o, (uintptr_t)next_library))
            walk->state = BEHIND_US;
        return 0;
    }
    const ElfW(Dyn) *dynamic = dynamic_section(o);
    if (walk->next == walk->end || !dynamic || !read_tables(walk->next++, o->dlpi_addr, dynamic))
        walk->state = UNKNOWN;
    else if (contains(o, (uintptr_t)dl_iterate_phdr)) /* libc, or a library that replaces this function */
        walk->state = COMPLETE;
    return walk->state != BEHIND_US;
}

void libc_symbols_open(struct libc_symbols *s) {
    struct walk walk = {s->libraries, s->libraries + LIBC_SYMBOLS_LIBRARIES, BEFORE_US};
    if (getenv("LD_AUDIT")) /* an auditing library may answer dlsym otherwise */
        return;
    dl_iterate_phdr(next_library, &walk);
    if (walk.state == COMPLETE)
        STORE_RELEASE(&s->count, (size_t)(walk.next - s->libraries));
}

/* ---- a name ------------------------------------------------------------ */

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* The entry of `name` behind entry `from`; 0: none.  `from` 0 begins. */
static uint32_t next_entry(const struct symbol_table *t, const char *name, uint32_t hash, uint32_t from) {
    enum { BITS = 8 * sizeof(ElfW(Addr)) };
    uint32_t i = from + 1;
    if (from == 0) {
        ElfW(Addr) word = t->bloom[hash / BITS % t->bloom_words];
        if (!(word >> hash % BITS & word >> (hash >> t->bloom_shift) % BITS & 1))
            return 0;
        i = t->buckets[hash % t->bucket_count];
        if (i < t->first_symbol)
            return 0;
    } else if (t->chains[from - t->first_symbol] & 1) {
        return 0;
    }
    for (;; i++) {
        uint32_t entry = t->chains[i - t->first_symbol];
        if ((entry | 1) == (hash | 1) && strcmp(t->strings + t->symbols[i].st_name, name) == 0)
            return i;
        if (entry & 1)
            return 0;
    }
}

static bool is_plain_function(const ElfW(Sym) * symbol) {
    unsigned binding = symbol->st_info >> 4, type = symbol->st_info & 15;
    return symbol->st_value && symbol->st_shndx != SHN_UNDEF && type == STT_FUNC &&
           (binding == STB_GLOBAL || binding == STB_WEAK) && symbol->st_other == STV_DEFAULT;
}

/* True if `number` is the number of `version` in the library's table. */
static bool is_version(const struct symbol_table *t, unsigned number, const char *version) {
    const char *place = t->version_names;
    for (size_t i = 0; place && i < t->version_count; i++) {
        const ElfW(Verdef) *definition = (const void *)place;
        const ElfW(Verdaux) *name = (const void *)(place + definition->vd_aux);
        if (definition->vd_ndx == number)
            return strcmp(t->strings + name->vda_name, version) == 0;
        place += definition->vd_next;
    }
    return false;
}

/* Chooses among the definitions of one name: dlsym takes the only one that is not hidden, dlvsym the one
 * of the version.  NULL if a definition has no version although others have one: the caller asks dlsym or
 * dlvsym. */
static void *choose(const struct symbol_table *libc, const char *name, const char *version) {
    enum { HIDDEN = 0x8000, FIRST_VERSION = 2 };
    const uint32_t hash = hash_of(name);
    void *found = NULL;
    if (version && !libc->versions)
        return NULL;
    for (uint32_t i = 0; (i = next_entry(libc, name, hash, i)) != 0;) {
        const ElfW(Sym) *symbol = &libc->symbols[i];
        unsigned number = libc->versions ? libc->versions[i] : FIRST_VERSION;
        if (!is_plain_function(symbol) || number < FIRST_VERSION)
            return NULL;
        if (version ? is_version(libc, number & ~HIDDEN, version) : !(number & HIDDEN)) {
            if (found)
                return NULL;
            found = (void *)(libc->base + symbol->st_value);
        }
    }
    return found;
}

bool libc_symbols_elsewhere(const struct libc_symbols *s, const char *name) {
    size_t count = LOAD_ACQUIRE(&s->count);
    uint32_t hash = hash_of(name);
    for (size_t i = 0; i + 1 < count; i++)
        if (next_entry(&s->libraries[i], name, hash, 0))
            return true;
    return false;
}

void *libc_symbols_find(const struct libc_symbols *s, const char *name, const char *version) {
    size_t count = LOAD_ACQUIRE(&s->count);
    bool in_libc = count > 0 && !libc_symbols_elsewhere(s, name);
    return in_libc ? choose(&s->libraries[count - 1], name, version) : NULL;
}
