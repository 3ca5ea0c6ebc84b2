/* SPDX-License-Identifier: MIT */
#include "elf_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "array.h"
#include "closing.h"
#include "format.h"

/* ---- rights ---------------------------------------------------------- */

/* With no_new_privs, or on a nosuid mount, execve(2) grants no rights, and ld.so(8) does not enter its
 * secure mode. */
static void rights(const char *path, const struct stat *st, const struct elf_caller *caller,
                   struct elf_facts *f) {
    struct statvfs mount;
    f->user = st->st_uid;
    f->group = st->st_gid;
    if (caller->no_new_privs || (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID)))
        return;
    f->gains_user = (st->st_mode & S_ISUID) && st->st_uid != caller->user;
    f->gains_group =
        (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != caller->group;
    /* root has all capabilities already and gains none (capabilities(7)) */
    f->gains_capabilities = caller->user != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* ---- the file -------------------------------------------------------- */

static enum libc_kind libc_of(const char *linker) {
    const char *name = base_of(linker);
    if (strncmp(name, "ld-musl", 7) == 0)
        return LIBC_MUSL;
    if (strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld64.so", 7) == 0 ||
        strncmp(name, "ld.so.", 6) == 0)
        return LIBC_GLIBC;
    return LIBC_OTHER;
}

static void interpreter(Elf *elf, const GElf_Phdr *header, struct elf_facts *f) {
    Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_BYTE);
    if (!data || !data->d_buf || data->d_size == 0)
        return;
    size_t n = strnlen(data->d_buf, data->d_size);
    if (n >= sizeof(f->linker))
        n = sizeof(f->linker) - 1;
    memcpy(f->linker, data->d_buf, n);
    f->linker[n] = '\0';
    f->libc = libc_of(f->linker);
    f->linker_missing = access(f->linker, F_OK) != 0;
}

/* Go's linker writes its build id into a note with Go's name, also in stripped programs. */
static bool note_of_go(Elf *elf, const GElf_Phdr *header) {
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz,
                                          header->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t at = 0, name, description;
    while (data && (at = gelf_getnote(data, at, &note, &name, &description)) > 0)
        if (note.n_namesz == 4 && memcmp((char *)data->d_buf + name, "Go\0", 4) == 0)
            return true;
    return false;
}

static bool section_of_go(Elf *elf) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && (strcmp(name, ".go.buildinfo") == 0 || strcmp(name, ".note.go.buildid") == 0))
            return true;
    }
    return false;
}

/* The file offset of an address, and the number of bytes from there to the segment's end. */
static bool offset_of(Elf *elf, size_t count, GElf_Addr address, int64_t *offset, size_t *rest) {
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD || address < h.p_vaddr ||
            address - h.p_vaddr >= h.p_filesz)
            continue;
        *offset = (int64_t)(h.p_offset + (address - h.p_vaddr));
        *rest = h.p_filesz - (address - h.p_vaddr);
        return true;
    }
    return false;
}

static void library_needed(const char *name, struct elf_facts *f) {
    f->asan |= strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0;
    f->uring |= strncmp(name, "liburing.so", 11) == 0;
    size_t used = strlen(f->needed);
    if (used + 1 + strlen(name) < sizeof(f->needed))
        snprintf(f->needed + used, sizeof(f->needed) - used, "\n%s", name);
}

static void dynamic(Elf *elf, size_t count, const GElf_Phdr *header, struct elf_facts *f) {
    Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_DYN);
    GElf_Dyn entry;
    GElf_Addr table = 0;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
        if (entry.d_tag == DT_STRTAB)
            table = entry.d_un.d_ptr;
    int64_t offset;
    size_t size;
    if (!table || !offset_of(elf, count, table, &offset, &size))
        return;
    Elf_Data *strings = elf_getdata_rawchunk(elf, offset, size, ELF_T_BYTE);
    for (int i = 0; strings && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if ((entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) || entry.d_un.d_val >= size)
            continue;
        const char *name = (const char *)strings->d_buf + entry.d_un.d_val;
        if (!memchr(name, '\0', size - entry.d_un.d_val))
            continue;
        if (entry.d_tag == DT_NEEDED)
            library_needed(name, f);
        else
            f->is_linker |= libc_of(name) != LIBC_OTHER;
    }
}

static void examine(Elf *elf, struct elf_facts *f) {
    GElf_Ehdr head;
    size_t count = 0;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &head))
        return;
    f->elf = true;
    f->class = head.e_ident[EI_CLASS];
    f->machine = head.e_machine;
    f->position_independent = head.e_type == ET_DYN;
    f->go = section_of_go(elf);
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            continue;
        if (header.p_type == PT_INTERP)
            interpreter(elf, &header, f);
        else if (header.p_type == PT_NOTE)
            f->go |= note_of_go(elf, &header);
        else if (header.p_type == PT_DYNAMIC)
            dynamic(elf, count, &header, f);
    }
}

int elf_facts(const char *path, struct elf_facts *f) {
    struct elf_caller self = {getuid(), getgid(), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1};
    return elf_facts_for(path, &self, f);
}

int elf_facts_for(const char *path, const struct elf_caller *caller, struct elf_facts *f) {
    struct stat st;
    memset(f, 0, sizeof(*f));
    if (stat(path, &st) != 0)
        return -errno;
    rights(path, &st, caller, f);
    CLOSED_FD fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return 0;
    f->readable = true;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf) {
        examine(elf, f);
        elf_end(elf);
    }
    return 0;
}

const char *machine_name(unsigned char class, unsigned machine) {
    static char other[32];
    static const struct {
        unsigned char class;
        unsigned machine;
        const char *name;
    } known[] = {
        {ELFCLASS64, EM_X86_64, "x86-64"},  {ELFCLASS32, EM_X86_64, "x32"},
        {ELFCLASS32, EM_386, "32-bit x86"}, {ELFCLASS64, EM_AARCH64, "aarch64"},
        {ELFCLASS32, EM_ARM, "32-bit ARM"}, {ELFCLASS64, EM_PPC64, "64-bit PowerPC"},
        {ELFCLASS64, EM_S390, "s390x"},     {ELFCLASS64, EM_RISCV, "64-bit RISC-V"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (known[i].class == class && known[i].machine == machine)
            return known[i].name;
    snprintf(other, sizeof(other), "ELF machine %u", machine);
    return other;
}
