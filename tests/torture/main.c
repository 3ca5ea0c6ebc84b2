/* SPDX-License-Identifier: MIT
 *
 *     torture FAST_PORT SLOW_PORT MEMORY SEED OPERATIONS
 *
 * Runs about OPERATIONS random operations, in one to four threads over a few
 * links, as the seed says.  Exit code 0: no call returned a wrong result.
 */
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "torture.h"

enum { SLOTS = 6, THREADS = 4, PIPE_BYTES = 256 * 1024 };

struct shared *shared;
bool alarms;
bool had_children;
unsigned without;
int streams_file;
_Atomic(enum fault) fault;
int fast_port, slow_port;

static struct slot {
    pthread_mutex_t mutex;
    struct link *link; /* NULL: the next actor opens it */
} slots[SLOTS];

static uint32_t slot_count, operations_each;

/* ---- notes ----------------------------------------------------------- */

void note(const struct actor *a, const struct link *link, const char *format, ...) {
    int saved = errno;
    va_list arguments;
    struct trace *t = &shared->trace[__atomic_fetch_add(&shared->traces, 1, __ATOMIC_RELAXED) % TRACES];
    t->when = now_ns();
    t->link = link ? link->number : LINKS;
    t->actor = a->number;
    t->sequence = a->sequence;
    va_start(arguments, format);
    vsnprintf(t->what, sizeof(t->what), format, arguments);
    va_end(arguments);
    errno = saved;
}

void violation(const struct actor *a, const struct link *link, const char *format, ...) {
    char text[256];
    va_list arguments;
    __atomic_fetch_add(&shared->violations, 1, __ATOMIC_RELAXED);
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    note(a, link, "VIOLATION");
    dprintf(STDERR_FILENO, "actor %u, operation %u, link %d: %s\n", a->number, a->sequence,
            link ? (int)link->number : -1, text);
    _exit(1);
}

/* ---- operations ------------------------------------------------------ */

static const struct {
    void (*run)(struct actor *a, struct link *link);
    uint32_t weight;
} operations[] = {
    {op_put, 16},      {op_put_small, 14}, {op_exchange, 16},          {op_take, 10},
    {op_wait, 12},     {op_option, 8},     {op_put_edge_triggered, 3}, {op_put_nothing, 2},
    {op_peek, 3},      {op_copy, 4},       {op_move, 3},               {op_pass, 2},
    {op_helper, 3},    {op_cancel, 2},     {op_put_stdio, 1},          {op_run_program, 1},
};

static bool end_link(struct actor *a, struct link *link) {
    link_end(a, link);
    return false;
}

/* Operations that may end the link. */
static const struct {
    bool (*run)(struct actor *a, struct link *link);
    uint32_t weight;
} last_operations[] = {
    {op_fork, 3},
    {op_elsewhere, 3},
    {op_cancel_write, 1},
    {end_link, 4},
};

enum {
    PLAIN = sizeof(operations) / sizeof(operations[0]),
    LAST = sizeof(last_operations) / sizeof(last_operations[0]),
};

bool operate_on(struct actor *a, struct link *link) {
    uint32_t total = 0, at;
    for (int i = 0; i < PLAIN; i++)
        total += operations[i].weight;
    for (int i = 0; i < LAST; i++)
        total += last_operations[i].weight;
    a->sequence++;
    __atomic_fetch_add(&shared->operations, 1, __ATOMIC_RELAXED);
    at = below(a, total);
    for (int i = 0; i < PLAIN; at -= operations[i].weight, i++)
        if (at < operations[i].weight) {
            operations[i].run(a, link);
            return true;
        }
    for (int i = 0; i < LAST; at -= last_operations[i].weight, i++)
        if (at < last_operations[i].weight)
            return last_operations[i].run(a, link);
    return true;
}

/* ---- actors ---------------------------------------------------------- */

void actor_begins(struct actor *a, uint64_t random, unsigned number) {
    *a = (struct actor){.random = random, .number = (uint16_t)number};
    if (pipe2(a->pipe, O_CLOEXEC) != 0)
        violation(a, NULL, "descriptors: %s", strerror(errno));
    fcntl(a->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
}

void actor_ends(struct actor *a) {
    close(a->pipe[0]);
    close(a->pipe[1]);
}

static void *act(void *argument) {
    struct actor *a = argument;
    for (uint32_t i = 0; i < operations_each; i++) {
        struct slot *slot = &slots[below(a, slot_count)];
        pthread_mutex_lock(&slot->mutex);
        if (!slot->link)
            slot->link = link_open(a);
        /* a few in a row, so that messages and turns come about */
        for (int left = (int)below(a, 4); left >= 0 && slot->link; left--, i++)
            if (!operate_on(a, slot->link))
                slot->link = NULL;
        pthread_mutex_unlock(&slot->mutex);
    }
    return NULL;
}

/* The last links are closed, or left to the end of the process. */
static void end_all(struct actor *a) {
    for (uint32_t i = 0; i < slot_count; i++) {
        struct link *link = slots[i].link;
        if (!link)
            continue;
        if (once_in(a, 2)) {
            link_end(a, link);
            continue;
        }
        link_settle(a, link);
        link_write_tail(a, link);
        __atomic_store_n(&link->ending, CLEAN, __ATOMIC_RELEASE);
        note(a, link, "left open");
    }
}

static enum fault read_fault(const char *name) {
    static const char *const names[] = {"", "byte", "lost", "late", "return", "hang"};
    for (int i = 1; name && i <= HANG; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum fault)i;
    return NO_FAULT;
}

static unsigned read_without(const char *names) {
    static const char *const known[] = {"_Fork", "pthread_exit", "unseen-close", "cancel-asleep"};
    enum { KNOWN = sizeof(known) / sizeof(known[0]) };
    unsigned found = 0;
    while (names && *names) {
        size_t length = strcspn(names, ",");
        unsigned i = 0;
        while (i < KNOWN && (strlen(known[i]) != length || strncmp(known[i], names, length) != 0))
            i++;
        if (i == KNOWN) {
            fprintf(stderr, "torture: TORTURE_WITHOUT: %s: nothing of that name\n", names);
            exit(2);
        }
        found |= 1U << i;
        names += length + (names[length] == ',');
    }
    return found;
}

int main(int count, char **words) {
    struct actor actors[THREADS];
    pthread_t threads[THREADS];
    if (count != 6) {
        fprintf(stderr, "usage: torture FAST_PORT SLOW_PORT MEMORY SEED OPERATIONS\n");
        return 2;
    }
    fast_port = atoi(words[1]);
    slow_port = atoi(words[2]);
    shared = shared_map(words[3]);
    uint64_t random = shared->seed = strtoull(words[4], NULL, 10);
    streams_init(random);
    size_t table_bytes;
    const char *table = streams_table(&table_bytes);
    streams_file = memfd_create("torture", MFD_CLOEXEC);
    if (write(streams_file, table, table_bytes) != (ssize_t)table_bytes)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    fault = read_fault(getenv("TORTURE_FAULT"));
    without = read_without(getenv("TORTURE_WITHOUT"));

    uint32_t thread_count = 1 + random_below(&random, THREADS);
    slot_count = 1 + random_below(&random, SLOTS);
    operations_each = (uint32_t)strtoul(words[5], NULL, 10) / thread_count;
    for (uint32_t i = 0; i < SLOTS; i++)
        pthread_mutex_init(&slots[i].mutex, NULL);
    for (uint32_t i = 0; i < thread_count; i++)
        actor_begins(&actors[i], random_next(&random), i);
    bool with_alarms = random_below(&random, 3) == 0;
    if (with_alarms)
        alarm_begins(&actors[0], random_below(&random, 2) == 0);
    for (uint32_t i = 1; i < thread_count; i++)
        if (pthread_create(&threads[i], NULL, act, &actors[i]) != 0)
            return 2;
    act(&actors[0]);
    for (uint32_t i = 1; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    if (with_alarms)
        alarm_ends(&actors[0]);
    children_wait(&actors[0]);
    end_all(&actors[0]);
    switch (random_below(&random, 4)) {
    case 0:
        _exit(0);
    case 1:
        quick_exit(0);
    case 2:
        if (without & WITHOUT_LAST_EXIT)
            return 0;
        pthread_exit(NULL);
    default:
        return 0;
    }
}
