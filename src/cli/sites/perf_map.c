/* SPDX-License-Identifier: MIT */
#include "perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "closing.h"
#include "format.h"

/* Bounds on memory and time, because the file belongs to the user.  A JVM with 30 000 methods writes 3 MB. */
enum { ENTRIES_MOST = 200000, LINE_MOST = 2048, NAMES_MOST = 32 << 20, CODE_MOST = 16 << 20 };

struct entry {
    uint64_t start, size;
    size_t name; /* in `names` */
};

struct perf_map {
    size_t count, room, used;
    struct entry *entry;
    char *names;
};

/* ---- the file -------------------------------------------------------- */

/* The user of the process; of an ended one, the owner of its statistics file. */
static bool user_of(const struct reader_file *r, uid_t *user) {
    char path[64];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%u", r->header.pid);
    bool found = stat(r->life == LIFE_RUNS ? path : r->path, &st) == 0;
    *user = found ? st.st_uid : 0;
    return found;
}

/* The kernel reuses process ids: true only if the file is not from an earlier or a later process with this
 * id.  The times may differ by one second. */
static bool is_of_its_time(const struct reader_file *r, const struct stat *st) {
    const struct stats_header *h = &r->header;
    const uint64_t second = 1000000000;
    uint64_t wrote = (uint64_t)st->st_mtim.tv_sec * second + (uint64_t)st->st_mtim.tv_nsec;
    uint64_t loaded = h->loaded_monotonic_ns ? h->loaded_monotonic_ns : h->started_monotonic_ns;
    uint64_t before = h->started_monotonic_ns - loaded;
    if (loaded > h->started_monotonic_ns || before > h->started_ns)
        before = 0;
    uint64_t lasted = h->ended_monotonic_ns - h->started_monotonic_ns;
    return wrote + second >= h->started_ns - before &&
           (r->life != LIFE_ENDED || h->ended_monotonic_ns < h->started_monotonic_ns ||
            wrote <= h->started_ns + lasted + second);
}

static FILE *open_map(const struct reader_file *r) {
    char path[128];
    struct stat st;
    uid_t user;
    if (r->life == LIFE_RUNS)
        snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%d.map", r->header.pid,
                 (int)reader_own_id((pid_t)r->header.pid));
    else
        snprintf(path, sizeof(path), "/tmp/perf-%u.map", r->header.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && user_of(r, &user) && st.st_uid == user &&
        is_of_its_time(r, &st))
        return fdopen(fd, "r");
    close(fd);
    return NULL;
}

/* ---- its lines ------------------------------------------------------- */

static bool make_room(struct perf_map *m) {
    if (m->count < m->room)
        return true;
    size_t room = m->room ? m->room * 2 : 4096;
    struct entry *more = reallocarray(m->entry, room, sizeof(*more));
    char *names = more ? realloc(m->names, room * (NAMES_MOST / ENTRIES_MOST) + LINE_MOST) : NULL;
    if (more)
        m->entry = more;
    if (!names)
        return false;
    m->names = names;
    m->room = room;
    return true;
}

/* "7f493e74a400 b0 JS:^send /srv/app.js:2:20" */
static bool take_line(struct perf_map *m, char *line) {
    char *at = line, *end;
    errno = 0;
    uint64_t start = strtoull(at, &end, 16), size = strtoull(at = end, &end, 16);
    line[strcspn(line, "\n")] = '\0';
    if (errno || end == at || *end != ' ' || !size || size > CODE_MOST)
        return true; /* a line that is no entry */
    size_t length = strlen(end + 1) + 1;
    if (!make_room(m) || m->used + length > m->room * (NAMES_MOST / ENTRIES_MOST))
        return false;
    memcpy(m->names + m->used, end + 1, length);
    m->entry[m->count++] = (struct entry){start, size, m->used};
    m->used += length;
    return m->count < ENTRIES_MOST;
}

struct perf_map *perf_map_open(const struct reader_file *r) {
    char line[LINE_MOST];
    CLOSED_FILE *in = open_map(r);
    struct perf_map *m = in ? calloc(1, sizeof(*m)) : NULL;
    while (m && fgets(line, sizeof(line), in) && take_line(m, line))
        ;
    return m;
}

void perf_map_close(struct perf_map *m) {
    if (!m)
        return;
    free(m->entry);
    free(m->names);
    free(m);
}

/* ---- names ----------------------------------------------------------- */

/* True for modules and packages that come with a runtime; the report names their caller in the program. */
static bool is_runtimes(const char *name, const char *path) {
    static const char *const packages[] = {"java.", "javax.", "sun.", "jdk.", "com.sun."};
    static const char *const inside[] = {"node:", "<frozen "};
    return begins_with_any(name, packages, ARRAY_SIZE(packages)) ||
           begins_with_any(path, inside, ARRAY_SIZE(inside)) || strstr(path, "/lib/python") != NULL;
}

static bool set(struct frame *f, const char *name, size_t length, const char *path, int line) {
    char whole[FRAME_NAME];
    snprintf(whole, sizeof(whole), "%.*s", (int)length, name);
    safe_text(whole[0] ? whole : "an anonymous function", f->function, sizeof(f->function));
    base_text(path, f->source, sizeof(f->source));
    f->line = line;
    f->kind = FRAME_SCRIPT;
    f->of_runtime = is_runtimes(whole, path);
    return true;
}

/* Node: "JS:~send /srv/app.js:2:20", the place of the function; Node 18 writes no column. */
static bool of_node(const char *name, struct frame *f) {
    char path[LINE_MOST];
    const char *begin = strchr(name, ':') + 1;
    begin += strspn(begin, "~^*+");
    const char *space = strrchr(begin, ' ');
    if (!space)
        return false;
    snprintf(path, sizeof(path), "%s", space + 1);
    int numbers[2] = {0, 0}; /* line and column, or only one of them */
    for (int i = 1; i >= 0; i--) {
        char *colon = strrchr(path, ':');
        if (!colon || colon[1] < '0' || colon[1] > '9')
            break;
        numbers[i] = (int)strtol(colon + 1, NULL, 10);
        *colon = '\0';
    }
    return set(f, begin, (size_t)(space - begin), path, numbers[0] ? numbers[0] : numbers[1]);
}

/* CPython: "py::send:/srv/app.py" */
static bool of_python(const char *name, struct frame *f) {
    const char *path = strchr(name, ':');
    return path && set(f, name, (size_t)(path - name), path + 1, 0);
}

/* The JVM: "void App.send(byte[])".  Its own code has no class: "StubRoutines (1)". */
static bool of_java(const char *name, const char *parenthesis, struct frame *f) {
    const char *begin = parenthesis;
    while (begin > name && begin[-1] != ' ')
        begin--;
    return memchr(begin, '.', (size_t)(parenthesis - begin)) &&
           set(f, begin, (size_t)(parenthesis - begin), "", 0);
}

bool perf_map_name(const char *name, struct frame *f) {
    static const char *const scripts[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    const char *parenthesis = strchr(name, '(');
    if (begins_with_any(name, scripts, ARRAY_SIZE(scripts)))
        return of_node(name, f);
    if (strncmp(name, "py::", 4) == 0)
        return of_python(name + 4, f);
    return parenthesis && of_java(name, parenthesis, f);
}

bool perf_map_find(const struct perf_map *m, uint64_t pc, struct frame *frame) {
    /* The last entry is the newest: a runtime uses the memory of code again. */
    for (size_t i = m ? m->count : 0; i-- > 0;)
        if (pc - m->entry[i].start < m->entry[i].size)
            return perf_map_name(m->names + m->entry[i].name, frame);
    return false;
}
