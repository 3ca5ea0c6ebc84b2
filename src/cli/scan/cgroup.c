/* SPDX-License-Identifier: MIT */
#include "cgroup.h"

#include <stdio.h>
#include <string.h>

enum { ID_DIGITS = 64, SHORT_ID = SCAN_CONTAINER - 1 };

/* The path in the line "NUMBER" + begin + PATH; NULL: there is none. */
static const char *line_behind(const char *text, const char *begin, size_t *length) {
    for (const char *line = text; line && *line;) {
        const char *end = strchr(line, '\n');
        size_t n = end ? (size_t)(end - line) : strlen(line), head = strlen(begin);
        const char *colons = strchr(line, ':');
        if (colons && (size_t)(colons - line) < n && strncmp(colons, begin, head) == 0) {
            const char *path = colons + head;
            *length = n - (size_t)(path - line);
            return path;
        }
        line = end ? end + 1 : NULL;
    }
    return NULL;
}

void scan_cgroup_path(const char *text, char path[SCAN_CGROUP]) {
    size_t length = 0, other_length = 0;
    const char *found = line_behind(text, "::", &length);
    const char *other = line_behind(text, ":name=systemd:", &other_length);
    if (other && (!found || length <= 1)) {
        found = other;
        length = other_length;
    }
    snprintf(path, SCAN_CGROUP, "%.*s", found ? (int)length : 0, found ? found : "");
}

static bool ends_with(const char *part, size_t length, const char *tail) {
    size_t n = strlen(tail);
    return length > n && strncmp(part + length - n, tail, n) == 0;
}

void scan_cgroup_unit(const char *path, char unit[SCAN_UNIT]) {
    unit[0] = '\0';
    for (const char *part = path; *part; part += *part == '/') {
        size_t length = strcspn(part, "/");
        bool manager = strncmp(part, "user@", 5) == 0; /* it has units of its own within it */
        if ((ends_with(part, length, ".service") && !manager) || ends_with(part, length, ".scope"))
            snprintf(unit, SCAN_UNIT, "%.*s", (int)length, part);
        part += length;
    }
}

void scan_cgroup_lasting_unit(const char *unit, char lasting[SCAN_UNIT]) {
    static const char *const passing[] = {"session-", "run-", "app-", "vte-spawn-"};
    const char *kind = strrchr(unit, '.');
    snprintf(lasting, SCAN_UNIT, "%s", unit);
    for (size_t i = 0; kind && i < sizeof(passing) / sizeof(passing[0]); i++)
        if (strncmp(unit, passing[i], strlen(passing[i])) == 0 && strpbrk(unit, "0123456789"))
            snprintf(lasting, SCAN_UNIT, "%s*%s", passing[i], kind);
}

void scan_cgroup_container(const char *path, char container[SCAN_CONTAINER]) {
    container[0] = '\0';
    for (const char *at = path; *at;) {
        size_t digits = strspn(at, "0123456789abcdef");
        if (digits == ID_DIGITS && (at == path || strchr("/-:", at[-1])))
            snprintf(container, SCAN_CONTAINER, "%.*s", SHORT_ID, at);
        at += digits ? digits : 1;
    }
}

bool scan_cgroup_matches(const char *path, const char *wanted) {
    static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd",
                                        "/sys/fs/cgroup"};
    size_t length;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        size_t root = strlen(roots[i]);
        if (strncmp(wanted, roots[i], root) == 0 && (wanted[root] == '/' || !wanted[root])) {
            wanted += root;
            break;
        }
    }
    length = strlen(wanted);
    while (length && wanted[length - 1] == '/')
        length--;
    if (length == 0)
        return true;
    if (wanted[0] == '/')
        return strncmp(path, wanted, length) == 0 && (path[length] == '/' || !path[length]);
    for (const char *part = path; *part; part += *part == '/') {
        if (strncmp(part, wanted, length) == 0 && (part[length] == '/' || !part[length]))
            return true;
        part += strcspn(part, "/");
    }
    return false;
}
