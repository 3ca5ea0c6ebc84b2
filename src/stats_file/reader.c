/* SPDX-License-Identifier: MIT */
#include "reader.h"

#include <arpa/inet.h>
#include <byteswap.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "clock_ns.h"
#include "closing.h"
#include "columns.h"

/* Returns false. */
__attribute__((format(printf, 2, 3))) static bool fail(struct reader_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
    /* a path may have control characters; the error stays one line */
    for (unsigned char *c = (unsigned char *)error->text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            *c = '?';
    return false;
}

/* ---- the file of a process, by its memory map ------------------------- */

static bool ends_in(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && memcmp(text + length - n, end, n) == 0;
}

bool reader_is_name(const char *name) {
    size_t length = strlen(name);
    return name[0] != '.' && length > strlen(STATS_SUFFIX) && ends_in(name, length, STATS_SUFFIX);
}

static bool parse(char *line, struct reader_mapping *m) {
    static const char deleted[] = " (deleted)";
    uint64_t major_number, minor_number;
    const char *at = line;
    line[strcspn(line, "\n")] = '\0';
    /* 7f1c2000-7f1c3000 r--p 00001000 fe:01 4711   /path: addresses, rights, offset, device, inode */
    if (!column_number(&at, 16, UINT64_MAX, &m->start) || *at++ != '-' ||
        !column_number(&at, 16, UINT64_MAX, &m->end) || strlen(at) < 5)
        return false;
    m->is_executable = at[3] == 'x';
    if (!columns_skip(&at, 1) || !column_number(&at, 16, UINT64_MAX, &m->offset) ||
        !column_number(&at, 16, UINT32_MAX, &major_number) || *at++ != ':' ||
        !column_number(&at, 16, UINT32_MAX, &minor_number) ||
        !column_number(&at, 10, UINT64_MAX, &m->inode))
        return false;
    m->device = makedev((unsigned)major_number, (unsigned)minor_number);
    m->path = at + strspn(at, " ");
    size_t length = strlen(m->path);
    m->is_deleted = ends_in(m->path, length, deleted);
    if (m->is_deleted)
        line[m->path - line + (ptrdiff_t)(length - (sizeof(deleted) - 1))] = '\0';
    return true;
}

int reader_each_mapping(pid_t pid, bool (*found)(const struct reader_mapping *, void *), void *context) {
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
    CLOSED_FILE *maps = fopen(name, "re");
    if (!maps)
        return errno == ENOENT ? -ESRCH : -errno;
    FREED char *line = NULL;
    size_t size = 0;
    struct reader_mapping m;
    errno = 0;
    while (getline(&line, &size, maps) > 0)
        if (parse(line, &m) && found(&m, context))
            break;
    return ferror(maps) ? -errno : 0;
}

struct wanted {
    uint64_t device, inode;
    bool is_there;
};

static bool is_wanted(const struct reader_mapping *m, void *context) {
    struct wanted *w = context;
    return w->is_there = m->device == w->device && m->inode == w->inode;
}

int reader_maps(pid_t pid, uint64_t device, uint64_t inode) {
    struct wanted w = {.device = device, .inode = inode};
    if (pid <= 0)
        return 0;
    int error = reader_each_mapping(pid, is_wanted, &w);
    return error ? error : w.is_there;
}

struct search {
    char path[4096];
    uint64_t device, inode;
    bool has_memory, has_library, has_file, is_deleted;
};

static bool is_stats_mapping(const struct reader_mapping *m, void *context) {
    struct search *s = context;
    s->has_memory = true;
    size_t length = strlen(m->path);
    if (strstr(m->path, "/libunstall"))
        s->has_library = true;
    if (m->path[0] != '/' || !ends_in(m->path, length, STATS_SUFFIX) || length >= sizeof(s->path))
        return false;
    memcpy(s->path, m->path, length + 1);
    s->device = m->device;
    s->inode = m->inode;
    s->has_file = true;
    s->is_deleted = m->is_deleted;
    return !m->is_deleted;
}

static bool is_file(const char *path, const struct search *s) {
    struct stat st;
    return lstat(path, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
}

const char *reader_refused(int error, enum reader_who who) {
    if ((error != EACCES && error != EPERM) || geteuid() == 0)
        return "";
    return who == ROOT ? "; run this as root" : "; run this as its user or as root";
}

const char *reader_who_may(void) {
    const char *who = reader_refused(EPERM, ITS_USER_OR_ROOT);
    return who[0] ? who + strlen("; ") : "this needs CAP_SYS_PTRACE, which this root lacks";
}

int reader_find(pid_t pid, char *path, size_t size, struct reader_error *error) {
    struct search s = {.has_library = false};
    int failed = reader_each_mapping(pid, is_stats_mapping, &s);
    const char *why = failed ? "no such process; if it has ended,"
                             : "runs no program: it is a kernel thread, or has ended; then";
    if (!failed && !s.has_memory)
        failed = -ESRCH;
    if (failed == -ESRCH)
        fail(error,
             "%d: %s give unstall report its statistics file or the folder of UNSTALL_STATS",
             (int)pid, why);
    else if (failed)
        fail(error, "%d: its memory map cannot be read: %s; %s", (int)pid, strerror(-failed),
             reader_who_may());
    if (failed)
        return failed;
    if (s.has_file) {
        /* If the process lives in another mount namespace, the path is below its own root, and if it has
         * changed its root there, the end of the path is. */
        if ((size_t)snprintf(path, size, "%s", s.path) < size && is_file(path, &s))
            return 0;
        for (const char *at = s.path; at; at = strchr(at + 1, '/'))
            if ((size_t)snprintf(path, size, "/proc/%d/root%s", (int)pid, at) < size && is_file(path, &s))
                return 0;
        fail(error, "%d: its statistics file %s %s; start the program anew", (int)pid, s.path,
             s.is_deleted ? "has been deleted" : "cannot be reached");
    } else if (s.has_library) {
        fail(error,
             "%d: has the library, but keeps no statistics; start it with unstall observe, "
             "or with UNSTALL_STATS=DIR (a folder of the user that it runs as, on tmpfs)",
             (int)pid);
    } else {
        fail(error,
             "%d: runs without the library, so it has no statistics; unstall observe %d tells its "
             "stalls, unstall attach %d cures them",
             (int)pid, (int)pid, (int)pid);
    }
    return -ENOENT;
}

/* ---- is it a statistics file? ----------------------------------------- */

static const char *kind_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFDIR: return "is a folder";
    case S_IFIFO: return "is a pipe";
    case S_IFSOCK: return "is a socket";
    case S_IFCHR:
    case S_IFBLK: return "is a device";
    default: return "is no regular file";
    }
}

#define EXPECTED \
    "expected a statistics file, PID-STARTED" STATS_SUFFIX ", as UNSTALL_STATS makes"

/* Checks the header as it is in the file, before anything is mapped. */
static bool is_stats_file(const struct stats_header *h, const struct stat *st, const char *path,
                          struct reader_error *error) {
    static const char nothing[sizeof(h->magic)];
    if (memcmp(h->magic, nothing, sizeof(nothing)) == 0)
        fail(error,
             "%s: has no header yet, or its process died before it wrote one; " EXPECTED,
             path);
    else if (memcmp(h->magic, STATS_MAGIC, sizeof(h->magic)) != 0)
        fail(error, "%s: is a file of another kind; " EXPECTED, path);
    else if (h->version == 0)
        fail(error, "%s: is damaged (format 0); " EXPECTED, path);
    else if (h->version > STATS_VERSION && bswap_32(h->version) <= 0xffff)
        fail(error, "%s: was written by a machine of the other byte order; read it there",
             path);
    else if (h->version > STATS_VERSION)
        fail(error,
             "%s: is of format %" PRIu32
             ", and this command reads up to %d; use the command "
             "that came with the library",
             path, h->version, STATS_VERSION);
    else if (h->header_bytes != sizeof(*h) || h->bytes != STATS_BYTES)
        fail(error,
             "%s: has another layout (%" PRIu64 " bytes, expected %zu): it is damaged, or "
             "from another build; use the command that came with the library",
             path, h->bytes, (size_t)STATS_BYTES);
    else if (st->st_size < (off_t)STATS_BYTES)
        fail(error, "%s: is truncated: %jd bytes of %zu; nothing can be read from it", path,
             (intmax_t)st->st_size, (size_t)STATS_BYTES);
    else if (st->st_size > (off_t)STATS_BYTES)
        fail(error, "%s: is too large: %jd bytes, a statistics file has %zu; it is damaged", path,
             (intmax_t)st->st_size, (size_t)STATS_BYTES);
    else
        return true;
    return false;
}

static bool look_at(int fd, const char *path, struct stat *st, struct reader_error *error) {
    struct stats_header header;
    if (fstat(fd, st) != 0)
        return fail(error, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return fail(error, "%s: %s; " EXPECTED, path, kind_of(st->st_mode));
    memset(&header, 0, sizeof(header));
    ssize_t n = pread(fd, &header, sizeof(header), 0);
    if (n < 0)
        return fail(error, "%s: %s", path, strerror(errno));
    if (n == 0)
        return fail(error, "%s: is empty; " EXPECTED, path);
    if ((size_t)n < sizeof(header) && memcmp(header.magic, STATS_MAGIC, sizeof(header.magic)) == 0)
        return fail(error, "%s: is truncated: %zd bytes of %zu; nothing can be read from it", path, n,
                    (size_t)STATS_BYTES);
    return is_stats_file(&header, st, path, error);
}

/* ---- sums, differences and quantiles ---------------------------------- */

static void add_times(struct reader_tally *a, const uint64_t *exchange, const uint64_t *answer) {
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        a->exchange[i] += exchange[i];
        a->answer[i] += answer[i];
    }
}

void reader_add(struct reader_tally *a, const struct reader_tally *b) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        a->counter[i] += b->counter[i];
    add_times(a, b->exchange, b->answer);
}

static void add_shard(struct reader_tally *a, const struct stats_shard *shard) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        a->counter[i] += STATS_COUNTER(shard, i);
    add_times(a, shard->exchange, shard->answer);
}

static void less(uint64_t *a, uint64_t b) {
    *a = *a > b ? *a - b : 0;
}

void reader_subtract(struct reader_tally *a, const struct reader_tally *b) {
    for (unsigned i = 0; i < STATS_COUNTERS; i++)
        less(&a->counter[i], b->counter[i]);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        less(&a->exchange[i], b->exchange[i]);
        less(&a->answer[i], b->answer[i]);
    }
}

const struct reader_row *reader_row_at(const struct reader_file *r, unsigned index) {
    for (size_t i = 0; i < r->row_count; i++)
        if (r->rows[i].index == index)
            return &r->rows[i];
    return NULL;
}

static void subtract_patterns(struct reader_file *after, const struct reader_file *before) {
    for (size_t i = 0; i < after->pattern_count && i < before->pattern_count; i++) {
        less(&after->patterns[i].count, before->patterns[i].count);
        less(&after->patterns[i].stalls, before->patterns[i].stalls);
        less(&after->patterns[i].stall_ns, before->patterns[i].stall_ns);
        if (after->patterns[i].count < after->patterns[i].stalls) /* a message began before the first look */
            after->patterns[i].count = after->patterns[i].stalls;
    }
    size_t kept = 0;
    for (size_t i = 0; i < after->pattern_count; i++)
        if (after->patterns[i].count)
            after->patterns[kept++] = after->patterns[i];
    after->pattern_count = kept;
}

void reader_since(struct reader_file *after, const struct reader_file *before) {
    for (size_t i = 0; i < after->row_count; i++) {
        const struct reader_row *old = reader_row_at(before, after->rows[i].index);
        if (old)
            reader_subtract(&after->rows[i].tally, &old->tally);
    }
    subtract_patterns(after, before);
}

uint64_t reader_quantile(const uint64_t *buckets, unsigned steps, double share) {
    unsigned count = HISTOGRAM_OCTAVES * steps + 2;
    double all = 0, seen = 0;
    for (unsigned i = 0; i < count; i++)
        all += (double)buckets[i];
    if (all <= 0)
        return 0;
    unsigned last = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!buckets[i])
            continue;
        last = i;
        seen += (double)buckets[i];
        if (seen >= share * all)
            break;
    }
    if (last == count - 1)
        return histogram_lowest(last, steps);
    return (histogram_lowest(last, steps) + histogram_lowest(last + 1, steps)) / 2;
}

/* ---- the snapshot: valid entries are copied, and the copies corrected ---- */

/* Before the mapping is read: a SIGBUS jumps out of the copy, and memory allocated there would leak. */
static bool make_room(struct reader_file *r, unsigned want) {
    if (want & READ_ROWS && !(r->rows = calloc(STATS_ROWS, sizeof(*r->rows))))
        return false;
    if (want & READ_CONNECTIONS &&
        !(r->connections = calloc(STATS_CONNECTIONS, sizeof(*r->connections))))
        return false;
    if (want & READ_PATTERNS && (!(r->modules = calloc(STATS_MODULES, sizeof(*r->modules))) ||
                                 !(r->patterns = calloc(STATS_PATTERNS, sizeof(*r->patterns)))))
        return false;
    return true;
}

/* Limits a number of the file to its room, and counts the correction. */
#define AT_MOST(r, value, most) \
    do {                        \
        if ((value) > (most)) { \
            (value) = (most);   \
            (r)->oddities++;    \
        }                       \
    } while (0)

static void end_string(char *text, size_t size) {
    text[size - 1] = '\0';
    size_t length = strlen(text);
    memset(text + length, 0, size - length);
}

static uint32_t state_of(const uint32_t *state) {
    return __atomic_load_n(state, __ATOMIC_ACQUIRE);
}

/* ---- rows ------------------------------------------------------------ */

static void sound_address(struct reader_file *r, struct stats_address *a) {
    a->unused = 0;
    if (a->family == AF_INET) {
        memset(a->address + 4, 0, sizeof(a->address) - 4);
    } else if (a->family != AF_INET6) {
        if (a->family)
            r->oddities++;
        memset(a, 0, sizeof(*a));
    }
}

static void sound_kind(struct reader_file *r, uint8_t *arm, uint8_t *mode) {
    if (*arm != 0xff && *arm >= STATS_ARMS) {
        *arm = 0xff;
        r->oddities++;
    }
    AT_MOST(r, *mode, STATS_MODES);
}

static void take_rows(struct reader_file *r, const struct stats_file *s) {
    for (unsigned i = 0; i < STATS_ROWS; i++) {
        if (s->row[i].state != STATS_VALID)
            continue;
        struct reader_row *row = &r->rows[r->row_count];
        memset(row, 0, sizeof(*row));
        row->index = i;
        row->id = s->row[i];
        row->id.unused = 0;
        AT_MOST(r, row->id.role, ROLE_DESTINATION);
        sound_kind(r, &row->id.arm, &row->id.mode);
        sound_address(r, &row->id.endpoint);
        for (unsigned k = 0; k < STATS_SHARDS; k++)
            add_shard(&row->tally, &s->shard[i][k]);
        r->row_count++;
    }
}

/* ---- connections ----------------------------------------------------- */

static bool sound_connection(struct reader_file *r, struct stats_connection *c) {
    if (c->serial == 0 || c->row >= STATS_ROWS) {
        r->oddities++;
        return false;
    }
    sound_kind(r, &c->arm, &c->mode);
    sound_address(r, &c->peer);
    sound_address(r, &c->local);
    return true;
}

static int by_serial(const void *a, const void *b) {
    uint64_t x = ((const struct stats_connection *)a)->serial;
    uint64_t y = ((const struct stats_connection *)b)->serial;
    return x < y ? -1 : x > y;
}

static void take_connections(struct reader_file *r, const struct stats_file *s,
                             const struct stats_file *shared) {
    for (unsigned i = 0; i < STATS_CONNECTIONS; i++) {
        if (s->connection[i].state != STATS_VALID)
            continue;
        struct stats_connection *c = &r->connections[r->connection_count];
        *c = s->connection[i];
        /* While it was copied, the record may have been given to another connection. */
        if (state_of(&shared->connection[i].state) != STATS_VALID ||
            __atomic_load_n(&shared->connection[i].serial, __ATOMIC_ACQUIRE) != c->serial)
            continue;
        if (sound_connection(r, c))
            r->connection_count++;
    }
    qsort(r->connections, r->connection_count, sizeof(*r->connections), by_serial);
}

/* ---- call sites ------------------------------------------------------ */

static void take_modules(struct reader_file *r, const struct stats_file *s) {
    for (unsigned i = 0; i < STATS_MODULES; i++) {
        if (s->module[i].state != STATS_VALID)
            continue;
        struct stats_module *m = &r->modules[r->module_count];
        *m = s->module[i];
        end_string(m->path, sizeof(m->path));
        if (m->start >= m->end)
            r->oddities++;
        else
            r->module_count++;
    }
}

static void sound_pattern(struct reader_file *r, struct stats_pattern *p) {
    if (p->row >= STATS_ROWS) {
        p->row = 0;
        r->oddities++;
    }
    for (unsigned i = 0; i < STATS_OCCURRENCES; i++) {
        if (p->occurrence[i].state != STATS_VALID) {
            memset(&p->occurrence[i], 0, sizeof(p->occurrence[i]));
            continue;
        }
        for (unsigned k = 0; k < 2; k++) {
            AT_MOST(r, p->occurrence[i].write[k].stack_bytes, STATS_STACK);
            AT_MOST(r, p->occurrence[i].write[k].register_count, STATS_REGISTERS);
        }
    }
}

static void take_patterns(struct reader_file *r, const struct stats_file *s) {
    for (unsigned i = 0; i < STATS_PATTERNS; i++) {
        if (s->pattern[i].state != STATS_VALID)
            continue;
        struct stats_pattern *p = &r->patterns[r->pattern_count++];
        *p = s->pattern[i];
        sound_pattern(r, p);
    }
}

/* Fills r with the valid entries of a copy of the file, and corrects them.  `shared` is the file itself; it
 * is read only to see if a record was given to another connection meanwhile. */
static void take_entries(struct reader_file *r, const struct stats_file *s, const struct stats_file *shared,
                         unsigned want) {
    r->header = s->header;
    end_string(r->header.program, sizeof(r->header.program));
    end_string(r->header.library, sizeof(r->header.library));
    AT_MOST(r, r->header.mode, STATS_MODES);
    r->control = s->control;
    AT_MOST(r, r->control.arm_count, STATS_ARMS);
    if (want & READ_ROWS)
        take_rows(r, s);
    if (want & READ_CONNECTIONS)
        take_connections(r, s, shared);
    if (want & READ_PATTERNS) {
        take_patterns(r, s);
        take_modules(r, s);
    }
}

/* ---- copying from a file that others may write or truncate ------------ */

static sigjmp_buf out_of_file;

static void truncated(int signal) {
    (void)signal;
    siglongjmp(out_of_file, 1);
}

/* Copies word by word with acquire loads, so that the words after a `state` are at least as new as the state.
 * `bytes` and both addresses are multiples of eight. */
static void copy_words(void *to, const void *from, size_t bytes) {
    uint64_t *words = to;
    const uint64_t *shared = from;
    for (size_t i = 0; i < bytes / sizeof(*words); i++)
        words[i] = __atomic_load_n(&shared[i], __ATOMIC_ACQUIRE);
}

/* Copies the pages that exist.  The library allocates pages as it needs them; a read of a hole through the
 * mapping would allocate a page, or raise SIGBUS if there is no room for it. */
static void copy_data(int fd, const char *shared, char *copy) {
    for (off_t at = 0; at < (off_t)STATS_BYTES;) {
        off_t data = lseek(fd, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return; /* the rest is a hole */
        off_t end = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
        if (data < at)
            data = at; /* the file system does not know its holes */
        if (end <= data || end > (off_t)STATS_BYTES)
            end = (off_t)STATS_BYTES;
        if (data < end)
            copy_words(copy + data, shared + data, (size_t)(end - data));
        at = end;
    }
}

/* Copies through a mapping: read(2) does not promise to copy a word as a whole. */
static bool take_guarded(struct reader_file *r, int fd, const struct stats_file *shared,
                         struct stats_file *copy, unsigned want) {
    struct sigaction catch = {.sa_handler = truncated}, before;
    sigaction(SIGBUS, &catch, &before);
    volatile bool whole = false;
    if (sigsetjmp(out_of_file, 1) == 0) {
        copy_data(fd, (const char *)shared, (char *)copy);
        take_entries(r, copy, shared, want);
        whole = true;
    }
    sigaction(SIGBUS, &before, NULL);
    return whole;
}

static bool take(struct reader_file *r, int fd, unsigned want, struct reader_error *error) {
    struct stats_file *copy = mmap(NULL, STATS_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct stats_file *shared = mmap(NULL, STATS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    bool mapped = copy != MAP_FAILED && shared != MAP_FAILED, whole = false;
    if (!mapped)
        fail(error, "%s: cannot be mapped: %s", r->path, strerror(errno));
    else if (!(whole = take_guarded(r, fd, shared, copy, want)))
        fail(error, "%s: was truncated while it was read; nothing can be read from it",
             r->path);
    if (copy != MAP_FAILED)
        munmap(copy, STATS_BYTES);
    if (shared != MAP_FAILED)
        munmap(shared, STATS_BYTES);
    return whole;
}

pid_t reader_own_id(pid_t pid) {
    static const char name[] = "NSpid:";
    char path[64], line[512];
    pid_t own = pid;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    CLOSED_FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, name, sizeof(name) - 1) == 0)
            own = (pid_t)strtol(strrchr(line, '\t') ? strrchr(line, '\t') : "0", NULL, 10);
    return own;
}

/* The processes in other PID namespaces, and their ids there.  A folder may have thousands of files that ask
 * for them: the list serves for a second, for files that are older than it. */
static struct {
    struct contained {
        pid_t pid, own;
    } *list;
    size_t count;
    uint64_t taken_ns;
} contained;

static void list_contained(void) {
    struct stat ours, its;
    CLOSED_FOLDER *proc = stat("/proc/self/ns/pid", &ours) == 0 ? opendir("/proc") : NULL;
    contained.taken_ns = clock_ns(CLOCK_MONOTONIC);
    contained.count = 0;
    for (const struct dirent *e; proc && (e = readdir(proc));) {
        char path[64];
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
        if (pid <= 0 || stat(path, &its) != 0 || its.st_ino == ours.st_ino)
            continue;
        struct contained *more = realloc(contained.list, (contained.count + 1) * sizeof(*more));
        if (!more)
            return;
        contained.list = more;
        more[contained.count++] = (struct contained){pid, reader_own_id(pid)};
    }
}

/* A process in a container has another id here than in its file, where another process of this host may have
 * that one.  0: none is found that maps the file. */
static pid_t find_in_containers(const struct reader_file *r) {
    const uint64_t now = clock_ns(CLOCK_MONOTONIC), second = 1000000000;
    if (now - contained.taken_ns > second || contained.taken_ns < r->header.started_monotonic_ns)
        list_contained();
    for (size_t i = 0; i < contained.count; i++)
        if (contained.list[i].own == (pid_t)r->header.pid &&
            reader_maps(contained.list[i].pid, r->device, r->inode) == 1)
            return contained.list[i].pid;
    return 0;
}

static enum reader_life life_of(struct reader_file *r) {
    if (r->header.ended_monotonic_ns)
        return LIFE_ENDED;
    int mapped = reader_maps((pid_t)r->header.pid, r->device, r->inode);
    pid_t inside = mapped == 1 ? 0 : find_in_containers(r);
    if (inside) {
        r->header.pid = (uint32_t)inside;
        mapped = 1;
    }
    if (mapped == -EACCES || mapped == -EPERM)
        return LIFE_UNKNOWN;
    return mapped == 1 ? LIFE_RUNS : LIFE_KILLED;
}

/* Gives back the room that is not used.  calloc(3) has touched it, where it was used before. */
static void *fitted(void *room, size_t bytes) {
    void *less = room ? realloc(room, bytes ? bytes : 1) : NULL;
    return less ? less : room;
}

struct reader_file *reader_read_fd(int fd, const char *path, unsigned want,
                                      struct reader_error *error) {
    struct stat st;
    if (!look_at(fd, path, &st, error))
        return NULL;
    struct reader_file *r = calloc(1, sizeof(*r));
    if (!r || !make_room(r, want)) {
        fail(error, "%s: no memory to read it into", path);
        reader_free(r);
        return NULL;
    }
    snprintf(r->path, sizeof(r->path), "%s", path);
    r->device = st.st_dev;
    r->inode = st.st_ino;
    if (!take(r, fd, want, error)) {
        reader_free(r);
        return NULL;
    }
    r->rows = fitted(r->rows, r->row_count * sizeof(*r->rows));
    r->connections = fitted(r->connections, r->connection_count * sizeof(*r->connections));
    r->modules = fitted(r->modules, r->module_count * sizeof(*r->modules));
    r->patterns = fitted(r->patterns, r->pattern_count * sizeof(*r->patterns));
    r->taken_ns = clock_ns(CLOCK_MONOTONIC);
    r->life = life_of(r);
    return r;
}

struct reader_file *reader_read(const char *path, unsigned want, struct reader_error *error) {
    /* O_NONBLOCK: if the path is a pipe, do not wait for its writer */
    CLOSED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        if (errno == ELOOP)
            fail(error, "%s: is a symbolic link; give the statistics file itself", path);
        else if (errno == EACCES || errno == EPERM)
            fail(error, "%s: %s; run this as its owner or as root", path, strerror(errno));
        else
            fail(error, "%s: %s; " EXPECTED, path, strerror(errno));
        return NULL;
    }
    return reader_read_fd(fd, path, want, error);
}

void reader_free(struct reader_file *r) {
    if (!r)
        return;
    free(r->rows);
    free(r->connections);
    free(r->modules);
    free(r->patterns);
    free(r);
}
