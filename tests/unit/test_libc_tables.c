/* SPDX-License-Identifier: MIT
 *
 * The search of a library's own tables, in tables that the test makes: which definitions count, which
 * version, and in which cases the answer is left to dlsym.  The walk over the libraries is static, so this
 * file takes the source in.
 */
#include "../../src/preload/sys/libc_symbols.c" /* NOLINT(bugprone-suspicious-include) */

#include "unit.h"

enum { BASE = 0x10000, SYMBOLS = 12, FIRST = 2, BUCKETS = 3, IS_HIDDEN = 0x8000 };

/* A library: its symbols from FIRST on, in the order of their buckets. */
struct library {
    ElfW(Sym) symbols[SYMBOLS];
    char strings[256];
    ElfW(Versym) versions[SYMBOLS];
    ElfW(Addr) bloom[2];
    uint32_t buckets[BUCKETS], chains[SYMBOLS];
    struct {
        ElfW(Verdef) definition;
        ElfW(Verdaux) name;
    } definitions[3];
    size_t strings_used;
};

struct entry {
    const char *name;
    unsigned version;
    ElfW(Addr) value;
    unsigned char type, binding, other;
    bool undefined;
};

static uint32_t string(struct library *l, const char *text) {
    size_t at = l->strings_used;
    strcpy(l->strings + at, text);
    l->strings_used += strlen(text) + 1;
    return (uint32_t)at;
}

/* The tables as the linker makes them (the GNU hash table has its entries sorted by bucket). */
static struct symbol_table made(struct library *l, const struct entry *entries, size_t count) {
    enum { BITS = 8 * sizeof(ElfW(Addr)), SHIFT = 5 };
    static const char *const names[] = {"lib", "V_1", "V_2"};
    memset(l, 0, sizeof(*l));
    string(l, "");
    uint32_t at = FIRST;
    for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
        uint32_t last = 0;
        for (size_t i = 0; i < count; i++) {
            const struct entry *e = &entries[i];
            uint32_t hash = hash_of(e->name);
            if (hash % BUCKETS != bucket)
                continue;
            l->symbols[at] = (ElfW(Sym)){.st_name = string(l, e->name),
                                         .st_info = (unsigned char)(e->binding << 4 | e->type),
                                         .st_other = e->other,
                                         .st_shndx = e->undefined ? SHN_UNDEF : 7,
                                         .st_value = e->value};
            l->versions[at] = (ElfW(Versym))e->version;
            l->chains[at - FIRST] = hash & ~1u;
            l->bloom[hash / BITS % 2] |=
                (ElfW(Addr))1 << hash % BITS | (ElfW(Addr))1 << (hash >> SHIFT) % BITS;
            if (!last)
                l->buckets[bucket] = at;
            last = at++;
        }
        if (last)
            l->chains[last - FIRST] |= 1;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        l->definitions[i].definition = (ElfW(Verdef)){
            .vd_ndx = (ElfW(Half))(i + 1), .vd_aux = sizeof(ElfW(Verdef)),
                .vd_next = sizeof(l->definitions[0])};
        l->definitions[i].name.vda_name = string(l, names[i]);
    }
    return (struct symbol_table){.base = BASE,
                                 .symbols = l->symbols,
                                 .strings = l->strings,
                                 .versions = l->versions,
                                 .version_names = (const char *)l->definitions,
                                 .version_count = ARRAY_SIZE(names),
                                 .bucket_count = BUCKETS,
                                 .first_symbol = FIRST,
                                 .bloom_words = 2,
                                 .bloom_shift = SHIFT,
                                 .bloom = l->bloom,
                                 .buckets = l->buckets,
                                 .chains = l->chains};
}

static struct library library, before_it;

static struct libc_symbols of_one(const struct entry *entries, size_t count) {
    struct libc_symbols s = {.count = 1};
    s.libraries[0] = made(&library, entries, count);
    return s;
}

static uintptr_t found(const struct libc_symbols *s, const char *name, const char *version) {
    return (uintptr_t)libc_symbols_find(s, name, version);
}

#define FUNCTION .type = STT_FUNC, .binding = STB_GLOBAL

/* ---- definitions -------------------------------------------------------- */

static const struct {
    const char *name;
    struct entry entry;
    bool counts;
} definitions[] = {
    {"a function", {"f", 2, 0x10, FUNCTION}, true},
    {"a weak one", {"f", 2, 0x10, .type = STT_FUNC, .binding = STB_WEAK}, true},
    {"a local one", {"f", 2, 0x10, .type = STT_FUNC, .binding = STB_LOCAL}, false},
    {"a unique one", {"f", 2, 0x10, .type = STT_FUNC, .binding = STB_GNU_UNIQUE}, false},
    {"a variable", {"f", 2, 0x10, .type = STT_OBJECT, .binding = STB_GLOBAL}, false},
    {"chosen at run time", {"f", 2, 0x10, .type = STT_GNU_IFUNC, .binding = STB_GLOBAL}, false},
    {"protected", {"f", 2, 0x10, FUNCTION, .other = STV_PROTECTED}, false},
    {"undefined", {"f", 2, 0x10, FUNCTION, .undefined = true}, false},
    {"without an address", {"f", 2, 0, FUNCTION}, false},
    {"without a version", {"f", 1, 0x10, FUNCTION}, false},
    {"local by its version", {"f", 0, 0x10, FUNCTION}, false},
    {"hidden: dlsym does not take it", {"f", 2 | IS_HIDDEN, 0x10, FUNCTION}, false},
};

Test(libc_tables, definitions_that_count) {
    EACH_ROW(row, definitions) {
        struct libc_symbols s = of_one(&row->entry, 1);
        EXPECT_INT(row->name, found(&s, "f", NULL), row->counts ? BASE + 0x10 : 0);
        EXPECT_INT(row->name, found(&s, "g", NULL), 0);
    }
}

Test(libc_tables, versions_of_one_name) {
    static const struct entry entries[] = {
        {"f", 2 | IS_HIDDEN, 0x10, FUNCTION}, {"f", 3, 0x20, FUNCTION}, {"other", 2, 0x30, FUNCTION}};
    struct libc_symbols s = of_one(entries, ARRAY_SIZE(entries));
    EXPECT_INT("the default", found(&s, "f", NULL), BASE + 0x20);
    EXPECT_INT("the older", found(&s, "f", "V_1"), BASE + 0x10);
    EXPECT_INT("the newer", found(&s, "f", "V_2"), BASE + 0x20);
    EXPECT_INT("none", found(&s, "f", "V_3"), 0);
    EXPECT_INT("the library's own name", found(&s, "f", "lib"), 0);
    EXPECT_INT("the only version", found(&s, "other", "V_1"), BASE + 0x30);
    EXPECT_INT("another version", found(&s, "other", "V_2"), 0);
    s.libraries[0].version_count = 2;
    EXPECT_INT("a table that ends before it", found(&s, "f", "V_2"), 0);
    s.libraries[0].version_names = NULL;
    EXPECT_INT("no names of versions", found(&s, "f", "V_1"), 0);
}

/* Where the answer is not plain dlsym gives it. */
Test(libc_tables, what_is_left_to_dlsym) {
    static const struct entry twice[] = {{"f", 2, 0x10, FUNCTION}, {"f", 3, 0x20, FUNCTION}};
    struct libc_symbols s = of_one(twice, 2);
    EXPECT_INT("two defaults", found(&s, "f", NULL), 0);
    EXPECT_INT("one of them", found(&s, "f", "V_2"), BASE + 0x20);
    static const struct entry mixed[] = {{"f", 2, 0x10, FUNCTION}, {"f", 1, 0x20, FUNCTION}};
    s = of_one(mixed, 2);
    EXPECT_INT("one without a version", found(&s, "f", NULL), 0);
    EXPECT_INT("... also of a version", found(&s, "f", "V_1"), 0);
    static const struct entry one[] = {{"f", 2, 0x10, FUNCTION}};
    s = of_one(one, 1);
    s.libraries[0].versions = NULL;
    EXPECT_INT("a library without versions", found(&s, "f", NULL), BASE + 0x10);
    EXPECT_INT("... has none of a version", found(&s, "f", "V_1"), 0);
    s.count = 0;
    EXPECT_INT("no tables", found(&s, "f", NULL), 0);
}

/* ---- the hash table ----------------------------------------------------- */

Test(libc_tables, many_names) {
    static const struct entry entries[] = {{"a", 2, 1, FUNCTION}, {"b", 2, 2, FUNCTION},
    {"c", 2, 3, FUNCTION},
                                           {"d", 2, 4, FUNCTION}, {"e", 2, 5, FUNCTION},
                                           {"f", 2, 6, FUNCTION},
                                           {"g", 2, 7, FUNCTION}, {"h", 2, 8, FUNCTION},
                                           {"i", 2, 9, FUNCTION},
                                           {"j", 2, 10, FUNCTION}};
    struct libc_symbols s = of_one(entries, ARRAY_SIZE(entries));
    EACH_ROW(row, entries)
        EXPECT_INT(row->name, found(&s, row->name, NULL), BASE + row->value);
    for (char name[2] = "k"; *name <= 'z'; ++*name)
        EXPECT_INT(name, found(&s, name, NULL), 0);
    library.bloom[0] = library.bloom[1] = ~(ElfW(Addr))0; /* the filter says yes to all */
    for (char name[2] = "k"; *name <= 'z'; ++*name)
        EXPECT_INT(name, found(&s, name, NULL), 0);
    library.buckets[0] = library.buckets[1] = library.buckets[2] = 0;
    EXPECT_INT("an empty bucket", found(&s, "a", NULL), 0);
    s = of_one(entries, ARRAY_SIZE(entries));
    library.bloom[0] = library.bloom[1] = 0;
    EXPECT_INT("the filter says no", found(&s, "a", NULL), 0);
}

/* Two names of one hash: the strings decide. */
Test(libc_tables, names_of_one_hash) {
    static const struct entry entries[] = {{"bb", 2, 1, FUNCTION}, {"cA", 2, 2, FUNCTION}};
    cr_assert(hash_of("bb") == hash_of("cA"));
    struct libc_symbols s = of_one(entries, 2);
    EXPECT_INT("first", found(&s, "bb", NULL), BASE + 1);
    EXPECT_INT("second", found(&s, "cA", NULL), BASE + 2);
    s = of_one(entries, 1);
    EXPECT_INT("not there", found(&s, "cA", NULL), 0);
}

/* The search ends at the last entry of a bucket; the memory behind it belongs to another one. */
Test(libc_tables, the_end_of_a_bucket) {
    static const struct entry one[] = {{"f", 2, 0x10, FUNCTION}};
    struct libc_symbols s = of_one(one, 1);
    library.symbols[FIRST + 1] = library.symbols[FIRST];
    library.versions[FIRST + 1] = 2;
    library.chains[1] = hash_of("f") | 1;
    EXPECT_INT("one definition", found(&s, "f", NULL), BASE + 0x10);
    library.chains[0] &= ~1u;
    EXPECT_INT("two", found(&s, "f", NULL), 0);
}

/* ---- libraries before libc ---------------------------------------------- */

Test(libc_tables, a_library_before_it_has_the_name) {
    static const struct entry in_libc[] = {{"f", 2, 1, FUNCTION}, {"g", 2, 2, FUNCTION}};
    static const struct entry before[] = {{"f", 2, 3, .type = STT_OBJECT, .binding = STB_GLOBAL}};
    struct libc_symbols s = {.count = 2};
    s.libraries[0] = made(&before_it, before, 1);
    s.libraries[1] = made(&library, in_libc, 2);
    EXPECT(libc_symbols_elsewhere(&s, "f") && !libc_symbols_elsewhere(&s, "g"));
    EXPECT_INT("dlsym decides", found(&s, "f", NULL), 0);
    EXPECT_INT("libc's", found(&s, "g", NULL), BASE + 2);
    s.count = 1;
    s.libraries[0] = s.libraries[1];
    EXPECT(!libc_symbols_elsewhere(&s, "f"));
    EXPECT_INT("libc's", found(&s, "f", NULL), BASE + 1);
}

/* ---- the walk over the libraries ------------------------------------------- */

/* The dynamic section of a library, as glibc (addresses) or musl (offsets) leaves it. */
static uint32_t hash_table[16];

static void make_hash_table(void) {
    hash_table[0] = BUCKETS;
    hash_table[1] = FIRST;
    hash_table[2] = 2; /* words of the filter */
    hash_table[3] = 5;
}

static const int tags[] = {DT_SYMTAB, DT_STRTAB, DT_GNU_HASH, DT_VERSYM, DT_VERDEF, DT_VERDEFNUM};

static size_t make_dynamic(ElfW(Dyn) *to, int without, uintptr_t base) {
    const void *const tables[] = {library.symbols, library.strings, hash_table, library.versions,
                                  library.definitions};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(tags); i++)
        if (tags[i] != without)
            to[count++] = (ElfW(Dyn)){.d_tag = tags[i],
                                      .d_un.d_ptr = i == 5 ? 3 : (uintptr_t)tables[i] - base};
    to[count++] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = 1};
    to[count] = (ElfW(Dyn)){.d_tag = DT_NULL};
    to[count + 1] = (ElfW(Dyn)){.d_tag = DT_SYMTAB, .d_un.d_ptr = 1}; /* behind the end */
    return count;
}

Test(libc_tables, tables_that_are_missing) {
    static const bool needed[] = {true, true, true, false, false, false};
    make_hash_table();
    for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
        ElfW(Dyn) dynamic[12];
        struct symbol_table t;
        make_dynamic(dynamic, tags[i], 0);
        EXPECT_INT("enough", read_tables(&t, 0x1000, dynamic), !needed[i]);
        EXPECT_INT("base", t.base, 0x1000);
    }
    ElfW(Dyn) dynamic[12];
    struct symbol_table t;
    make_dynamic(dynamic, 0, 0);
    hash_table[2] = 0;
    EXPECT(!read_tables(&t, 0, dynamic)); /* without a filter */
    hash_table[2] = 2;
    hash_table[0] = 0;
    EXPECT(!read_tables(&t, 0, dynamic)); /* without a bucket */
    hash_table[0] = BUCKETS;
}

Test(libc_tables, addresses_and_offsets) {
    make_hash_table();
    uintptr_t base = (uintptr_t)&library < (uintptr_t)hash_table
        ? (uintptr_t)&library : (uintptr_t)hash_table;
    base -= 64;
    for (int offsets = 0; offsets < 2; offsets++) {
        ElfW(Dyn) dynamic[12];
        struct symbol_table t;
        make_dynamic(dynamic, 0, offsets ? base : 0);
        ASSERT(read_tables(&t, base, dynamic));
        EXPECT(t.symbols == library.symbols && t.strings == library.strings &&
            t.versions == library.versions);
        EXPECT(t.version_names == (const char *)library.definitions && t.version_count == 3);
        EXPECT(t.bucket_count == BUCKETS && t.first_symbol == FIRST && t.bloom_words == 2 &&
            t.bloom_shift == 5);
        EXPECT((const uint32_t *)t.bloom == hash_table + 4);
        EXPECT(t.buckets == (const uint32_t *)(t.bloom + 2) && t.chains == t.buckets + BUCKETS);
    }
}

/* A library that has `inside` among its segments. */
struct loaded {
    ElfW(Phdr) headers[3];
    ElfW(Dyn) dynamic[12];
    struct dl_phdr_info info;
};

static struct dl_phdr_info *loaded(struct loaded *l, const void *inside, int without) {
    make_dynamic(l->dynamic, without, 0);
    l->headers[0] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_vaddr = (uintptr_t)inside, .p_memsz = 1};
    l->headers[1] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = (uintptr_t)inside, .p_memsz = inside ? 1 : 0};
    l->headers[2] = (ElfW(Phdr)){.p_type = without == PT_DYNAMIC ? PT_NOTE : PT_DYNAMIC,
                                 .p_vaddr = (uintptr_t)l->dynamic};
    l->info = (struct dl_phdr_info){.dlpi_phdr = l->headers, .dlpi_phnum = 3};
    return &l->info;
}

Test(libc_tables, what_a_library_contains) {
    struct loaded l;
    char here[4] = "";
    struct dl_phdr_info *info = loaded(&l, here + 1, 0);
    l.headers[1].p_memsz = 2;
    EXPECT(!contains(info, (uintptr_t)here) && contains(info, (uintptr_t)here + 1) &&
           contains(info, (uintptr_t)here + 2) && !contains(info, (uintptr_t)here + 3));
    l.headers[1].p_type = PT_DYNAMIC;
    EXPECT(!contains(info, (uintptr_t)here + 1));
    info->dlpi_addr = 16;
    EXPECT(dynamic_section(info) == (const ElfW(Dyn) *)(16 + (uintptr_t)(here + 1)));
    info->dlpi_phnum = 1;
    EXPECT(!dynamic_section(info));
}

/* From behind us as far as libc; anything odd on the way ends the walk without an answer. */
Test(libc_tables, the_walk) {
    static struct symbol_table room[2];
    struct loaded us, other, libc_itself;
    make_hash_table();
    const void *our_code = (const void *)(uintptr_t)next_library;
    const void *libcs_code = (const void *)(uintptr_t)dl_iterate_phdr;
    struct walk walk = {room, room + 2, BEFORE_US};
    EXPECT_INT("goes on", next_library(loaded(&other, &walk, 0), 0, &walk), 0);
    EXPECT(walk.state == BEFORE_US && walk.next == room);
    EXPECT_INT("goes on", next_library(loaded(&us, our_code, 0), 0, &walk), 0);
    EXPECT(walk.state == BEHIND_US && walk.next == room);
    EXPECT_INT("goes on", next_library(loaded(&other, &walk, 0), 0, &walk), 0);
    EXPECT(walk.state == BEHIND_US && walk.next == room + 1);
    EXPECT_INT("ends", next_library(loaded(&libc_itself, libcs_code, 0), 0, &walk), 1);
    EXPECT(walk.state == COMPLETE && walk.next == room + 2);
    walk = (struct walk){room + 2, room + 2, BEHIND_US};
    EXPECT_INT("too many", next_library(loaded(&libc_itself, libcs_code, 0), 0, &walk), 1);
    EXPECT(walk.state == UNKNOWN);
    walk = (struct walk){room, room + 2, BEHIND_US};
    EXPECT_INT("no dynamic section", next_library(loaded(&other, &walk, PT_DYNAMIC), 0, &walk), 1);
    EXPECT(walk.state == UNKNOWN);
    walk = (struct walk){room, room + 2, BEHIND_US};
    EXPECT_INT("no hash table", next_library(loaded(&other, &walk, DT_GNU_HASH), 0, &walk), 1);
    EXPECT(walk.state == UNKNOWN);
}
