/* SPDX-License-Identifier: MIT */
#include "diagnosis.h"

#include <string.h>

#include "affected_table.inc"
#include "closing.h"

enum { SCRIPT_MOST = 64 * 1024 };

static bool is_program(const struct affected *a, const char *path) {
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < AFFECTED_SIGNS && a->programs[i]; i++)
        if (strcmp(slash ? slash + 1 : path, a->programs[i]) == 0)
            return true;
    return false;
}

static bool links(const struct affected *a, const char *needed) {
    for (int i = 0; i < AFFECTED_SIGNS && a->libraries[i]; i++)
        for (const char *line = needed; (line = strchr(line, '\n'));)
            if (strncmp(++line, a->libraries[i], strlen(a->libraries[i])) == 0)
                return true;
    return false;
}

static bool says(const struct affected *a, const char *text) {
    for (int i = 0; i < AFFECTED_SIGNS && a->words[i]; i++)
        if (strstr(text, a->words[i]))
            return true;
    return false;
}

/* The begin of a script's text; "" if it cannot be read or sets TCP_NODELAY. */
static void read_script(const char *path, char text[SCRIPT_MOST + 1]) {
    CLOSED_FILE *file = path[0] ? fopen(path, "re") : NULL;
    text[file ? fread(text, 1, SCRIPT_MOST, file) : 0] = '\0';
    if (strcasestr(text, "nodelay") || strcasestr(text, "disable_nagle"))
        text[0] = '\0';
}

const struct affected *affected_find(const struct program *program, const struct elf_facts *file) {
    static char script[SCRIPT_MOST + 1];
    read_script(program->script, script);
    for (size_t i = 0; i < sizeof(all_affected) / sizeof(all_affected[0]); i++) {
        const struct affected *a = &all_affected[i];
        if (is_program(a, program->file) || links(a, file->needed) || says(a, script))
            return a;
    }
    return NULL;
}
