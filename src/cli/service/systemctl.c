/* SPDX-License-Identifier: MIT */
#include "systemctl.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "answer.h"
#include "closing.h"
#include "errors.h"

enum { WORDS_MOST = 16, ANSWER_S = 25, ACTION_S = 900 };

bool manager_runs(const struct manager *m) {
    if (!m->user)
        return access("/run/systemd/system", F_OK) == 0; /* as sd_booted(3) asks */
    char path[PATH_MAX];
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (!runtime)
        return false;
    snprintf(path, sizeof(path), "%s/systemd/private", runtime);
    return access(path, F_OK) == 0;
}

/* ---- the child ------------------------------------------------------- */

static bool hangs; /* it has not answered once; the next question waits a second only */

/* A restart lasts as long as the unit's start, and goes on in systemd without us; daemon-reload runs all
 * generators. */
static int limit_of(const char *command) {
    if (hangs)
        return 1;
    bool acts = strcmp(command, "restart") == 0 || strcmp(command, "start") == 0 ||
                strcmp(command, "daemon-reload") == 0;
    return acts ? ACTION_S : ANSWER_S;
}

char *systemctl(const struct manager *m, bool quiet, const char *verb, const char *const *options,
                const char *unit) {
    const char *words[WORDS_MOST] = {"systemctl", m->user ? "--user" : "--system", "--no-pager", verb};
    size_t count = 4;
    char *text = NULL;
    while (options && *options)
        words[count++] = *options++;
    if (unit) {
        words[count++] = "--";
        words[count++] = unit;
    }
    bool late = false;
    int code = answer_of(words, limit_of(verb), true, &text, &late);
    hangs |= late;
    if (code == 0 && text)
        return text;
    if (!quiet)
        complain("systemctl %s%s%s: %s%s", verb, unit ? " " : "", unit ? unit : "",
                 code < 0        ? strerror(-code)
                 : text && *text ? text
                                 : "it failed and said nothing",
                 late ? "; systemd or its bus hangs" : "");
    free(text);
    return NULL;
}

int systemctl_do(const struct manager *m, bool quiet, const char *verb, const char *unit) {
    FREED char *said = systemctl(m, quiet, verb, NULL, unit);
    return said ? 0 : EXIT_OWN;
}

/* ---- properties ------------------------------------------------------ */

/* The properties that enable, disable and status need. */
#define ASKED                                                                                     \
    "--property=Id,LoadState,LoadError,UnitFileState,FragmentPath,SourcePath,DropInPaths,"        \
    "Transient,"                                                                                  \
    "Triggers,ActiveState,SubState,NRestarts,NRestarts,ControlGroup,ActiveEnterTimestamp,"        \
    "ActiveEnterTimestampMonotonic,"                                                              \
    "ExecStart,Environment,EnvironmentFiles,UnsetEnvironment,User,Group,DynamicUser,"             \
    "NoNewPrivileges,"                                                                            \
    "SystemCallFilter,ProtectHome,PrivateTmp,RootDirectory,RootImage,InaccessiblePaths,"          \
    "TemporaryFileSystem,NoExecPaths,ExecPaths,BindPaths,BindReadOnlyPaths,RuntimeDirectoryMode," \
    "AppArmorProfile,SELinuxContext"

bool properties_read(const struct manager *m, const char *unit, struct properties *p) {
    const char *const asked[] = {ASKED, NULL};
    p->text = systemctl(m, false, "show", asked, unit);
    if (!p->text)
        return false;
    p->size = strlen(p->text) + 1;
    for (char *c = p->text; *c; c++)
        if (*c == '\n')
            *c = '\0';
    return true;
}

void properties_free(struct properties *p) {
    free(p->text);
    *p = (struct properties){0};
}

const char *property_next(const struct properties *p, const char *name, const char *value) {
    size_t length = strlen(name);
    const char *end = p->text + p->size;
    const char *line = value ? value + strlen(value) + 1 : p->text;
    for (; line < end; line += strlen(line) + 1)
        if (strncmp(line, name, length) == 0 && line[length] == '=')
            return line + length + 1;
    return NULL;
}

const char *property(const struct properties *p, const char *name) {
    const char *value = property_next(p, name, NULL);
    return value ? value : "";
}

bool property_is(const struct properties *p, const char *name, const char *value) {
    return strcmp(property(p, name), value) == 0;
}

/* ---- lists ----------------------------------------------------------- */

/* A word may be quoted in part.  systemd escapes by a backslash, within double quotes too; newer versions
 * quote control characters as $'...', which no name of a variable here has. */
bool list_word(const char **list, char *word, size_t size) {
    const char *at = *list + strspn(*list, " \t");
    size_t used = 0;
    char quote = '\0';
    if (!*at)
        return false;
    for (; *at && (quote || (*at != ' ' && *at != '\t')); at++) {
        char c = *at;
        if (quote ? c == quote : (c == '"' || c == '\'')) {
            if (quote)
                c = '\0';
            quote = c;
            continue;
        }
        if (c == '\\' && quote != '\'' && at[1])
            c = *++at;
        if (used + 1 < size)
            word[used++] = c;
    }
    word[used] = '\0';
    *list = at;
    return true;
}

bool list_variable(const char *list, const char *name, char *value, size_t size) {
    static char word[65536];
    size_t length = strlen(name);
    bool found = false;
    while (list_word(&list, word, sizeof(word)))
        if (strncmp(word, name, length) == 0 && word[length] == '=') {
            snprintf(value, size, "%s", word + length + 1);
            found = true;
        }
    return found;
}

bool manager_variable(const struct manager *m, const char *name, char *value, size_t size) {
    static const char *const asked[] = {"--property=Environment", NULL};
    static const char lead[] = "Environment=";
    FREED char *said = systemctl(m, true, "show", asked, NULL);
    return said && strncmp(said, lead, sizeof(lead) - 1) == 0 &&
           list_variable(said + sizeof(lead) - 1, name, value, size);
}
