/* SPDX-License-Identifier: MIT */
#include "demangle.h"

#include <ctype.h>
#include <string.h>

#include "closing.h"
#include "format.h"

enum { NAME_MOST = 4096 };

/* ---- Nim: NAME__FOLDERZMODULE_NUMBER ------------------------------------------ */

struct nim_name {
    size_t name;        /* its length */
    const char *module; /* the last part of its path */
    size_t length;
    bool in_folder;
};

/* The module's letters: '_' stands between parts only, since Nim writes one inside a name as a number. */
static bool nim_parts(const char *text, struct nim_name *out) {
    const char *number = strrchr(text, '_'), *begin = number;
    if (!number || !number[1] || number[1 + strspn(number + 1, "0123456789")])
        return false;
    while (begin > text && isalnum((unsigned char)begin[-1]))
        begin--;
    if (begin == number || !isalpha((unsigned char)*begin) || begin < text + 3 || begin[-1] != '_' ||
        begin[-2] != '_')
        return false;
    out->name = (size_t)(begin - 2 - text);
    out->module = begin;
    out->in_folder = false;
    for (const char *p = begin + 1; p + 1 < number; p++)
        if (*p == 'Z') {
            out->module = p + 1;
            out->in_folder = true;
        }
    out->length = (size_t)(number - out->module);
    return true;
}

bool is_nim_name(const char *name) {
    struct nim_name parts;
    return nim_parts(name, &parts);
}

static bool nim_text(const char *name, bool nim, char *text, size_t size) {
    struct nim_name parts;
    if (!nim_parts(name, &parts) || !(nim || parts.in_folder))
        return false;
    char plain[NAME_MOST];
    snprintf(plain, sizeof(plain), "%.*s.%.*s", (int)parts.length, parts.module, (int)parts.name, name);
    safe_text(plain, text, size);
    return true;
}

/* ---- C++ and Rust: libiberty ------------------------------------------ */

#ifdef CLI_HAVE_LIBIBERTY
/* Its header is in different folders, and on some systems missing; this has not changed since 1998. */
extern char *cplus_demangle(const char *mangled, int options);

enum { WITHOUT_PARAMETERS = 0 };

static char *plain(const char *name) {
    bool mangled = strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0;
    return mangled && strlen(name) < NAME_MOST ? cplus_demangle(name, WITHOUT_PARAMETERS) : NULL;
}
#else
static char *plain(const char *name) {
    (void)name;
    return NULL;
}
#endif

const char *demangle(const char *name, bool nim, char *text, size_t size) {
    FREED char *found = plain(name);
    if (found || !nim_text(name, nim, text, size))
        safe_text(found ? found : name, text, size);
    return text;
}
