/* SPDX-License-Identifier: MIT
 *
 * unstall doctor: can a preload help a program or a process?
 */
#include <errno.h>
#include <string.h>

#include "args.h"
#include "attach.h"
#include "diagnosis.h"
#include "errors.h"
#include "fetch.h"
#include "guards.h"
#include "library.h"
#include "process_stat.h"
#include "stats_files.h"
#include "stats_names.h"

enum { EXIT_CANNOT_WORK = 1 };

static void judge(struct diagnosis *d) {
    static struct preload_entry entry;
    struct elf_facts library;
    d->library = library_installed();
    if (d->library) {
        preload_entry(&entry, d->library, &d->file);
        d->library = entry.file;
    }
    if (!d->library || elf_facts(d->library, &library) != 0)
        elf_facts("/proc/self/exe",
                  &library); /* it is built for the same machine as this command */
    obstacles_find(&d->obstacles, &d->program, &d->file, &library);
    d->works = !obstacles_first(&d->obstacles);
}

static int diagnose_program(struct diagnosis *d, const char *word) {
    int error = program_find(&d->program, word);
    if (error == 0)
        error = elf_facts(d->program.file, &d->file);
    if (error)
        return program_complain(&d->program, -error);
    judge(d);
    return 0;
}

/* The mode of a process, from its statistics file if it has one. */
static void ask_stats_file(struct diagnosis *d) {
    struct reader_error ignored;
    if (reader_find(d->process.pid, d->stats_file, sizeof(d->stats_file), &ignored) != 0) {
        d->stats_file[0] = '\0';
        return;
    }
    struct reader_file *r = reader_read(d->stats_file, 0, &ignored);
    if (r)
        snprintf(d->mode, sizeof(d->mode), "%s", mode_name(r->header.mode));
    reader_free(r);
}

/* True if an attachment to this port (0: to all) has one of its sockets.  Such a socket answers with the
 * value of TCP_NODELAY that the program has set, so whether Nagle's algorithm is in force cannot be read. */
static bool take_attached(struct diagnosis *d, unsigned port) {
    bool some = false;
    for (size_t i = 0; d->socket_count != SIZE_MAX && i < d->socket_count; i++) {
        struct tcp_socket *s = &d->sockets[i];
        if (port != 0 && s->local.port != port && s->peer.port != port)
            continue;
        s->nodelay = s->nodelay == 0 ? -1 : s->nodelay;
        some = true;
    }
    return some;
}

/* The attachment to this process, to its cgroup or to one above. */
static void ask_attachments(struct diagnosis *d) {
    FREED struct attach_state *list = NULL;
    size_t count = 0;
    char ignored[ATTACH_ERROR];
    pid_t pid = d->process.pid;
    if (attach_list(&list, &count, ignored) != 0)
        return; /* only root may look */
    for (size_t i = 0; i < count; i++) {
        const struct attach_config *c = &list[i].config;
        bool its = c->pid ? c->pid == pid && attach_start_of(pid) == c->pid_start
                          : attach_has_cgroup(c->path, c->cgroup) && attach_is_below(pid, c->path);
        if (!list[i].known || !its)
            continue;
        bool has_sockets = take_attached(d, c->port);
        if (!c->port) {
            snprintf(d->attached, sizeof(d->attached), "%s", list[i].name);
            d->experiment = c->experiment.arms > 0;
        } else if (has_sockets) {
            snprintf(d->attached_port, sizeof(d->attached_port), "%s", list[i].name);
            d->port = c->port;
        }
    }
}

static void ask_commands(struct diagnosis *d) {
    FREED struct attach_fetching *fetching = NULL;
    FREED struct guard *guards = NULL;
    size_t count = attach_fetchings(&fetching);
    for (size_t i = 0; i < count; i++)
        if (fetching[i].target == d->process.pid)
            d->fetcher = fetching[i].command;
    count = guards_find(&guards);
    const struct guard *guard = guard_of(d->process.pid, guards, count);
    d->guard = guard ? guard->session : 0;
    d->guard_blind = guard && guard->blind;
}

static int diagnose_process(struct diagnosis *d, pid_t pid) {
    struct process_facts *p = &d->process;
    char why[PROCESS_WHY];
    int error = process_facts(pid, p);
    if (error == -ESRCH)
        return complain("%d: no such process; give the id of a running one, or a program", pid);
    if (process_refused(pid, why))
        return complain("%s", why);
    if (error == -ENOEXEC)
        return complain("%d: its first thread has ended, so what it runs cannot be read", pid);
    if (error)
        return complain("%d: cannot be inspected: %s; %s", pid, strerror(-error), reader_who_may());
    d->live = true;
    snprintf(d->program.path, sizeof(d->program.path), "/proc/%d/exe", (int)pid);
    elf_facts(d->program.path, &d->file);
    memcpy(d->program.file, p->program, sizeof(d->program.file));
    d->program.name = p->program;
    /* it runs, so its linker exists; the rights that it gained are in process_facts.secure */
    d->file.linker_missing = false;
    d->file.gains_user = d->file.gains_group = d->file.gains_capabilities = false;
    d->file.uring |= p->rings;
    judge(d);
    d->works = !p->secure && (d->works || p->library[0]);
    if (p->library[0]) {
        d->obstacles.count = 0; /* the library is loaded: no obstacle applies */
        snprintf(d->mode, sizeof(d->mode), "%s", p->mode[0] ? p->mode : "auto");
        ask_stats_file(d);
    }
    d->sockets = tcp_sockets(pid, &d->socket_count);
    ask_attachments(d);
    ask_commands(d);
    return 0;
}

static int diagnose(const char *word, bool json) {
    static struct diagnosis d;
    int pid = 0;
    d.target = word;
    int failed = is_pid(word, &pid) ? diagnose_process(&d, pid) : diagnose_program(&d, word);
    if (failed)
        return failed;
    diagnosis_advise(&d);
    if (json)
        diagnosis_json(stdout, &d);
    else
        diagnosis_text(stdout, &d);
    free(d.sockets);
    failed = finish_output();
    return failed ? failed : d.works || diagnosis_cured(&d) ? 0 : EXIT_CANNOT_WORK;
}

static int run(int argc, char **argv) {
    static const char what[] = "PROGRAM or PID";
    const char *word = NULL;
    bool json = false;
    const struct args_option options[] = {{"--json", &json, NULL}, {0}};
    if (!args_all(&verb_doctor, argc, argv, options, what, &word))
        return EXIT_OWN;
    return word ? diagnose(word, json) : args_no_word(what);
}

const struct verb verb_doctor = {
    .name = "doctor",
    .summary = "Tell what a preload could do for a program, and what else helps",
    .usage = "[--json] PROGRAM|PID",
    .help = "  --json  all of it, for programs; the form is in the manual\n"
            "\n"
            "Of a process also: is the library loaded, in which mode, what stands against\n"
            "it, what else of unstall cures it, and which of its TCP sockets have Nagle's\n"
            "algorithm in force. Nothing is changed. Exit codes: 0 a preload works (or has),\n"
            "or the process is cured already, 1 it cannot, 125 the command failed, 126 and\n"
            "127 as run has them.\n",
    .run = run,
};
