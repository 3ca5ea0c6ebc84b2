/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <string.h>

#include "diagnosis.h"

__attribute__((format(printf, 3, 4))) static void add(char list[ADVICE_MOST][ADVICE_ROOM],
                                                      unsigned *count, const char *format, ...) {
    va_list arguments;
    if (*count == ADVICE_MOST)
        return;
    va_start(arguments, format);
    vsnprintf(list[(*count)++], ADVICE_ROOM, format, arguments);
    va_end(arguments);
}

#define REMARK(...) add(d->remarks, &d->remark_count, __VA_ARGS__)
#define ADVISE(...) add(d->advice, &d->advice_count, __VA_ARGS__)

static bool guard_cures(const struct diagnosis *d) {
    return d->guard && !d->guard_blind;
}

bool diagnosis_cured(const struct diagnosis *d) {
    return d->attached[0] || d->fetcher || guard_cures(d);
}

const char *diagnosis_verdict(const struct diagnosis *d) {
    if (diagnosis_cured(d) && !d->process.library[0])
        return guard_cures(d)  ? "the supervisor of unstall run cures it already"
               : d->experiment ? "an experiment of unstall ab cures some of its connections"
                               : "unstall attach cures it already";
    if (d->live && d->process.library[0])
        return d->works ? "the library is loaded" : "the library is loaded, and does nothing";
    if (d->live)
        return d->works ? "runs without the library; a preload works if it is restarted"
                        : "a preload cannot work here";
    return d->works ? "a preload works here" : "a preload cannot work here";
}

/* ---- remarks --------------------------------------------------------- */

static void remarks_of_process(struct diagnosis *d) {
    const struct process_facts *p = &d->process;
    if (p->secure)
        REMARK("it was started with more rights than its caller, or with another security profile "
               "(AT_SECURE): ld.so then ignores LD_PRELOAD, and the library ignores its variables");
    if (d->attached[0])
        REMARK("attached as %s: %s connections are cured without the library, and read back the program's "
               "own TCP_NODELAY",
               d->attached, d->experiment ? "some of its" : "its");
    if (d->fetcher)
        REMARK("attached without privilege: unstall attach (process %d) sets TCP_NODELAY on its connections, "
               "on new ones within a second",
               (int)d->fetcher);
    if (d->guard)
        REMARK("under the seccomp supervisor of unstall run (process %d): its new connections have "
               "TCP_NODELAY%s",
               (int)d->guard,
               d->guard_blind ? ", but not where it sets that itself: a seccomp filter forbids the "
                                "supervisor to look at sockets"
                              : "");
    if (d->attached_port[0])
        REMARK("its connections with port %u at one end are cured; undo it: unstall detach %s", d->port,
               d->attached_port);
    if (p->preload_asked && !p->library[0] && !p->secure && d->file.linker[0] && !d->guard)
        REMARK("LD_PRELOAD named libunstall.so at its start, but the library is not loaded: ld.so "
               "wrote the reason to its stderr%s",
               p->other_files ? "; the file must exist inside its container" : "");
    if (d->works && d->library && !p->library[0] && !process_sees(p->pid, d->library))
        REMARK("it cannot see %s (%s): put the library into a folder that it sees", d->library,
               p->other_files ? "a container" : "ProtectHome= or similar");
    if (p->profile[0])
        REMARK("it is confined by the profile %s, which must allow it to read and map the library",
               p->profile);
    if (p->library_replaced)
        REMARK("its libunstall.so has been replaced since its start; it uses the old one until it "
               "is restarted");
    if (p->seccomp == 2 && !d->guard)
        REMARK("a seccomp filter is in force: one from the start (of a container, of a service) "
               "does not matter; after one that the program installs itself, the library makes no "
               "calls of its own");
    if (p->seccomp == 1)
        REMARK("seccomp's strict mode is in force: it can only read, write and end");
    if (d->socket_count == SIZE_MAX)
        REMARK("its descriptors cannot be inspected");
}

/* ---- advice ---------------------------------------------------------- */

static const char *unit_of(const struct diagnosis *d) {
    return d->live ? process_unit(&d->process) : NULL;
}

static const char *lasting_unit_of(const struct diagnosis *d) {
    return d->live ? process_lasting_unit(&d->process) : NULL;
}

/* What is started again, as a shell takes it, with a space before. */
static const char *command_of(const struct diagnosis *d, struct prose *p) {
    p->used = 0;
    if (!d->live || !process_command(p, d->process.pid)) {
        prose_add_word(p, d->live ? d->process.program : d->target);
        prose_add(p, "%s", d->live ? " ..." : "");
    }
    return p->text;
}

static void advise_attach(struct diagnosis *d) {
    if (unit_of(d))
        ADVISE("cure it without a restart: unstall attach --unit %s", unit_of(d));
    else
        ADVISE("cure it without a restart: unstall attach %d", (int)d->process.pid);
}

static void advise_measuring(struct diagnosis *d) {
    ADVISE("look first: unstall observe %d", (int)d->process.pid);
    if (unit_of(d))
        ADVISE("measure what the cure gains: unstall ab --live --unit %s", unit_of(d));
    else
        ADVISE("measure what the cure gains: unstall ab --live %d", (int)d->process.pid);
}

static void advise_loaded(struct diagnosis *d) {
    int pid = (int)d->process.pid;
    if (d->stats_file[0]) {
        ADVISE("see what it does: unstall report %d, or live: unstall top %d", pid, pid);
        if (strcmp(d->mode, "off") == 0 || strcmp(d->mode, "observe") == 0)
            ADVISE("cure it as it runs: unstall set %d auto", pid);
        else
            ADVISE("turn it off: unstall set %d off; on again: unstall set %d %s", pid, pid, d->mode);
        ADVISE("measure what the cure gains: unstall ab --live %d", pid);
    } else {
        ADVISE("see whether it still stalls: unstall observe %d", pid);
        ADVISE("to see what the library does, and to switch it while it runs, start it with --stats "
               "DIR (UNSTALL_STATS; a folder of the user that it runs as, on tmpfs)");
    }
}

static void advise_cured(struct diagnosis *d) {
    ADVISE("see whether it still stalls: unstall observe %d", (int)d->process.pid);
    ADVISE("since when, and what else is cured here: unstall status");
    if (d->attached[0])
        ADVISE("undo it: unstall detach %s", d->attached);
    else if (d->fetcher)
        ADVISE("undo it: Ctrl-C in that unstall attach, or kill %d", (int)d->fetcher);
    else
        ADVISE("undo it: start it again without unstall run");
}

static void advise_program(struct diagnosis *d) {
    struct prose p;
    if (!d->library)
        ADVISE("first install libunstall.so: meson install");
    ADVISE("cure: unstall run --%s", command_of(d, &p));
    ADVISE("look first: unstall observe --%s", p.text);
    ADVISE("as a service: unstall enable SERVICE");
}

/* A preload works if it is started again. */
static void advise_process(struct diagnosis *d) {
    const struct process_facts *p = &d->process;
    const char *library = d->library ? d->library : "libunstall.so";
    const char *unit = lasting_unit_of(d);
    struct prose command;
    if (unit)
        ADVISE("cure: unstall enable --restart %s", unit);
    advise_attach(d);
    if (p->other_files)
        ADVISE("it runs in a container: mount the library there and set the variable, as in docker "
               "run -v %s:%s:ro -e LD_PRELOAD=%s",
               library, library, library);
    else if (!unit)
        ADVISE("cure it from its next start on: unstall run --%s", command_of(d, &command));
    advise_measuring(d);
    if (!d->library)
        ADVISE("before a start with it, install libunstall.so: meson install");
}

/* True if `unstall run` chooses the seccomp supervisor by itself. */
static bool is_chosen(enum obstacle_kind kind) {
    return kind == OBSTACLE_GO || kind == OBSTACLE_STATIC;
}

/* True for an obstacle to a preload that does not hinder the seccomp supervisor. */
static bool is_supervisors(enum obstacle_kind kind) {
    return is_chosen(kind) || kind == OBSTACLE_LIBC || kind == OBSTACLE_NO_ELF ||
           kind == OBSTACLE_CLEARED || kind == OBSTACLE_SANITIZER;
}

/* False: the supervisor does not cure it. */
static bool advise_supervisor(struct diagnosis *d) {
    bool chosen = true;
    struct prose command;
    for (unsigned i = 0; i < d->obstacles.count; i++) {
        const struct obstacle *o = &d->obstacles.list[i];
        if (!o->remark && !is_supervisors(o->kind))
            return false;
        chosen &= o->remark || is_chosen(o->kind);
    }
    if (!obstacles_first(&d->obstacles))
        return false;
    ADVISE("%s%s: %sunstall run%s --%s: under a seccomp supervisor, which needs no privilege",
           d->live ? "cure it from its next start on" : "cure",
           d->process.other_files ? ", in its container" : "", lasting_unit_of(d) ? "ExecStart=" : "",
           chosen ? "" : " --how seccomp", command_of(d, &command));
    return true;
}

/* Each way was tried: docs/kernel.md, "Beyond the preload" and "The stall". */
static void advise_otherwise(struct diagnosis *d) {
    if (d->live)
        advise_attach(d);
    bool supervised = advise_supervisor(d);
    for (unsigned i = 0; i < d->obstacles.count; i++) {
        const struct obstacle *o = &d->obstacles.list[i];
        if (!o->remark && !(supervised && is_chosen(o->kind)))
            ADVISE("%s", o->instead);
    }
    if (d->process.secure)
        ADVISE("start it as that user already: a service's User= and AmbientCapabilities=, "
               "setpriv");
    if (d->live)
        advise_measuring(d);
    ADVISE("cure from the other side: unstall run --quickack auto -- PEER, if the peer can be "
           "restarted; it then acknowledges at once. Else, as root: unstall attach --quickack PID");
    ADVISE("on the receiving host, for all programs: ip route change ROUTE quickack 1 (as root; "
           "ip route get ADDRESS shows the route); no sysctl does it");
}

void diagnosis_advise(struct diagnosis *d) {
    d->remark_count = d->advice_count = 0;
    if (d->live)
        remarks_of_process(d);
    const struct affected *known = affected_find(&d->program, &d->file);
    if (known)
        REMARK("known to stall: %s. Without the library: %s", known->software, known->cure);
    if (d->file.go)
        REMARK("Go sets TCP_NODELAY by default: look for SetNoDelay(false) in it");
    for (unsigned i = 0; i < d->obstacles.count; i++)
        if (d->obstacles.list[i].remark)
            REMARK("%s: %s", d->obstacles.list[i].reason, d->obstacles.list[i].instead);
    if (diagnosis_cured(d) && !d->process.library[0])
        advise_cured(d);
    else if (!d->works)
        advise_otherwise(d);
    else if (!d->live)
        advise_program(d);
    else if (d->process.library[0])
        advise_loaded(d);
    else
        advise_process(d);
    ADVISE("to see which processes of this host stall: unstall scan");
}
