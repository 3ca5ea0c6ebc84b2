/* SPDX-License-Identifier: MIT
 *
 * The gate: initialisation at the first call, and repair in the child of a fork.  One byte of a page that the
 * kernel wipes at fork tells both; each exported call looks at it (gate_enter, in lock.h).
 */
#include "process.h"

#include <sys/auxv.h>

#include "readable.h"
#include "real.h"
#include "shim.h"
#include "stats_file.h"

enum { GATE_PAGE = 4096 };

static volatile uint8_t *open_gate; /* the wiped page, once initialised */

enum { INIT_NONE, INIT_RUNS, INIT_DONE, INIT_FAILED };
static int init_state;
static int gate_owner; /* if fork does not wipe the page: the process for which the gate is open */

/* Where the page is not wiped, the gate stays shut and gate_slow() asks each time. */
static void open_the_gate(void) {
    if (gate_owner)
        gate_owner = (int)raw0(SYS_getpid);
    else
        *open_gate = GATE_OPEN;
}

static bool is_forked(void) {
    if (gate_owner)
        return !config()->no_syscalls && raw0(SYS_getpid) != gate_owner;
    return *open_gate != GATE_OPEN;
}

/* The parent sends the rest of a connection that was closed.  Our copy, which repair() closes, would keep the
 * socket open as long as this process lives. */
static void closed_ones_close(void) {
    struct conn *outer = self.locked; /* a wait for a lock may have noticed the fork */
    FDS_LOOK(c)
        if (LOAD(&c->lingering) && conn_lock(c))
            conn_unlock(c);
    self.locked = outer;
}

static void fork_happened(void) {
    const struct config *now = config();
    RAW_CHILD_BEGINS();
    lock_forked();
    self.turn = NULL;
    self.draining = NULL;
    drains_changed++; /* a handler has forked amid the wait for a drain, which is the parent's */
    window_forked();
    stats_forked();
    stats_file_forked();
    stacks_forked();
    nodelay_epoch++;
    config_publish(now, now); /* a first write takes the lock, which repairs, before off counts without it */
    hold_refused = false;
    open_the_gate();
    if (now->buffers)
        closed_ones_close();
    RAW_CHILD_ENDS();
}

/* True: this item of LD_PRELOAD is the library, in any directory. */
static bool is_us(const char *item, size_t length) {
    static const char us[] = "libunstall.so";
    size_t before = length - (sizeof(us) - 1);
    return length >= sizeof(us) - 1 && memcmp(item + before, us, sizeof(us) - 1) == 0 &&
           (before == 0 || item[before - 1] == '/');
}

/* UNSTALL_CHILDREN=0: take ourselves out of LD_PRELOAD, in place (a shorter string always fits). */
static void drop_from_preload(char **environment) {
    for (char **e = environment; e && *e; e++) {
        if (strncmp(*e, "LD_PRELOAD=", 11) != 0)
            continue;
        char *to = *e + 11;
        for (const char *from = to; *from;) {
            size_t length = strcspn(from, ": ");
            bool more = from[length] != '\0';
            if (!is_us(from, length)) {
                memmove(to, from, length + more);
                to += length + more;
            }
            from += length + more;
        }
        *to = '\0';
    }
}

/* Cures a TCP socket that is inherited as descriptor 0, 1 or 2.  The library sees no write of a shell's or
 * a script's own stdio, so it looks at these descriptors at the start. */
static void look_at_standard_streams(void) {
    for (int fd = 0; fd <= 2; fd++) {
        struct conn *c = shim_lock_fd(fd);
        if (c)
            conn_unlock(c);
    }
}

static volatile uint8_t *make_gate(void) {
    volatile uint8_t *page = raw_map(GATE_PAGE);
    if (page && raw3(SYS_madvise, page, GATE_PAGE, MADV_WIPEONFORK) != 0) /* a sandbox, an old kernel */
        gate_owner = (int)raw0(SYS_getpid);
    return page;
}

#ifdef MACHINE_UNKNOWN
enum { PASSES = true }; /* machine.h */
#else
enum { PASSES = false };
#endif

static bool initialise(void) {
    open_gate = make_gate();
    if (!open_gate || !real_resolve() || PASSES)
        return false;
    /* AT_SECURE: ld.so drops LD_PRELOAD with a path; a library in the standard
     * directories may still come in, and then does nothing (ld.so(8)) */
    bool secure = getauxval(AT_SECURE) != 0;
    clock_start();
    readable_start();
    log_start(secure ? NULL : getenv("JOURNAL_STREAM"));
    config_load(secure ? NULL : environ, program_invocation_short_name);
    if (secure)
        config_switch(MODE_OFF, true);
    if (mode_cures(config()->mode) || config()->arms.count)
        hold_watches_ends();
    verbose_start();
    rings_start();
    if (!config()->children)
        drop_from_preload(environ);
    open_the_gate();
    STORE_RELEASE(&gate, (const volatile uint8_t *)open_gate);
    look_at_standard_streams();
    return true;
}

bool gate_slow(void) {
    int seen = __atomic_load_n(&init_state, __ATOMIC_ACQUIRE);
    if (seen == INIT_DONE) {
        if (is_forked())
            fork_happened();
        return true;
    }
    /* a call before our constructor: from another library's, or from a thread of its */
    if (seen != INIT_NONE || !REPLACE(&init_state, &seen, INIT_RUNS, __ATOMIC_ACQ_REL))
        return false;
    int saved = errno;
    bool good = initialise();
    __atomic_store_n(&init_state, good ? INIT_DONE : INIT_FAILED, __ATOMIC_RELEASE);
    errno = saved;
    return good;
}

__attribute__((constructor)) static void constructor(void) {
    clock_start();
    stats_file_program_begins();
    if (*LOAD(&gate) != GATE_OPEN)
        gate_slow();
}

void gate_shuts_for_good(void) {
    STORE(&init_state, INIT_FAILED);
    *open_gate = GATE_SHUT;
}
