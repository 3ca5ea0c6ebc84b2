/* SPDX-License-Identifier: MIT
 *
 * unstall attach: cures running processes until Ctrl-C, or until `unstall detach`, which also ends those
 * whose command was killed.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "attach.h"
#include "errors.h"
#include "fetch.h"
#include "format.h"
#include "policy.h"
#include "process_facts.h"
#include "process_stat.h"
#include "steer.h"
#include "unit.h"

enum { EXIT_NOTHING = 1 };

struct request {
    struct attach_wish wish;
    struct attach_options options;
    struct arms_words words;
    bool list;
    struct attach_target target;
    char not_found[ATTACH_ERROR]; /* why there is no target; "": there is one */
};

static volatile sig_atomic_t stop;

static void on_signal(int number) {
    (void)number;
    stop = 1;
}

/* A second Ctrl-C must not stop the command while it restores the options.  Under nohup(1) it stays when the
 * terminal goes. */
static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, before;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            (numbers[i] != SIGHUP || before.sa_handler != SIG_IGN))
            sigaction(numbers[i], &action, NULL);
}

/* ---- the list ----------------------------------------------------------------------- */

static const char *keeper_of(const struct attach_config *c) {
    if (c->loader == 0)
        return "detached";
    if (attach_start_of(c->loader) != c->loader_start)
        return "its command was killed";
    return "in the foreground";
}

static const char *target_state(const struct attach_config *c) {
    if (c->pid && attach_start_of(c->pid) != c->pid_start)
        return "; the process has ended";
    if (!attach_has_cgroup(c->path, c->cgroup))
        return "; the cgroup was removed";
    return "";
}

static void print_state(const struct attach_state *s) {
    char date[NAME_ROOM], text[ATTACH_TARGET], cured[NAME_ROOM];
    const struct attach_config *c = &s->config;
    if (!s->known) {
        printf("%-16s  made by another version of unstall; detach puts all back\n", s->name);
        return;
    }
    printf("%-16s  %s, mode %s, since %s, %s cured; %s%s\n", s->name,
           safe_text(c->target, text, sizeof(text)), attach_mode_name(c),
           date_text(c->began_ns, date), count_text(c->cured, cured), keeper_of(c),
           target_state(c));
}

static int list_all(void) {
    FREED struct attach_state *list = NULL;
    size_t count = 0;
    char error[ATTACH_ERROR] = "";
    if (attach_list(&list, &count, error) != 0)
        return complain("%s", error);
    if (!count)
        remark("nothing is attached");
    for (size_t i = 0; i < count; i++)
        print_state(&list[i]);
    return finish_output();
}

/* ---- in the foreground ----------------------------------------------------------------- */

static bool has_ended(const struct attach_target *t, int pidfd) {
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    enum { LOOK_MS = 500 };
    int n = poll(&wait, pidfd >= 0, LOOK_MS); /* a signal ends it */
    if (n > 0)
        remark("%s has ended", t->text);
    else if (!t->pid && !attach_has_cgroup(t->path, t->cgroup))
        remark("%s: the cgroup was removed", t->text);
    else
        return false;
    return true;
}

/* An experiment is told until nobody reads it. */
static bool tell(struct experiment *e) {
    return !e || experiment_tell(e, &stop);
}

/* Another command may have ended our attachment and begun its own, of the same name. */
static bool is_ours(const char *name) {
    struct attach_state s;
    attach_look(name, &s);
    if (!s.known)
        return s.there;
    return s.config.loader == getpid() && s.config.loader_start == attach_start_of(getpid());
}

static int keep(const struct attach_target *t, struct experiment *e) {
    struct attach_state s = {.known = false};
    char error[ATTACH_ERROR] = "", cured[NAME_ROOM];
    CLOSED_FD pidfd = t->pid ? (int)syscall(SYS_pidfd_open, t->pid, 0) : -1;
    bool ended = t->pid && pidfd < 0, told;
    while ((told = tell(e)) && !stop && !ended && is_ours(t->name))
        ended = has_ended(t, pidfd);
    if (told && stop) /* the signal may have come after the last line was made */
        tell(e);
    attach_look(t->name, &s);
    int failed = is_ours(t->name) ? attach_end(t->name, error) : -ENOENT;
    if (failed == -ENOENT) {
        remark("%s: detached by another command", t->text);
        return 0;
    }
    if (failed || error[0])
        complain("%s", error);
    if (e)
        return failed ? EXIT_OWN : 0;
    if (!failed && s.config.quickack)
        remark("%s: acknowledgements of %s connection%s had been hastened", t->text,
               count_text(s.config.quick, cured), s.config.quick == 1 ? "" : "s");
    if (!failed)
        remark("%s: put back; %s connection%s had been cured", t->text, count_text(s.config.cured, cured),
               s.config.cured == 1 ? "" : "s");
    return failed ? EXIT_OWN : 0;
}

/* A target that is smaller or larger than its name may suggest. */
static void remark_on(const struct attach_target *t, const struct attach_wish *w) {
    if (t->pid == 1)
        remark("process 1: its own connections only, not those of the processes that it has started; "
               "--unit, --cgroup or --all reach these");
    else if (t->whole_host && w->kind == WISH_CGROUP)
        remark("%s: this is the root cgroup, so the whole host, as by --all", t->text);
}

/* Its own cure acts in every arm. */
static void remark_on_library(const struct attach_target *t) {
    static struct cgroup_pids pids;
    static struct process_facts f;
    if (!t->pid) /* of a process `unstall ab` has seen that it has no library */
        cgroup_pids(t->path, &pids);
    for (size_t i = 0; i < pids.count; i++)
        if (process_facts(pids.list[i], &f) == 0 && f.library[0]) {
            remark("%s: process %d has libunstall.so, which acts in every arm; so the arms differ less",
                   t->text, (int)f.pid);
            return;
        }
}

static int attach(const struct request *r) {
    static const char *const when[] = {"on every connection that lacks it", "where a stall is proved"};
    const struct attach_target *target = &r->target;
    struct attach_state s;
    char error[ATTACH_ERROR] = "";
    remark_on(target, &r->wish);
    catch_signals();
    if (attach_begin(target, &r->options, error) != 0)
        return complain("%s", error);
    if (error[0])
        remark("%s", error);
    attach_look(target->name, &s);
    char undo[ATTACH_NAME + 32] = "Ctrl-C";
    if (r->options.detached)
        snprintf(undo, sizeof(undo), "`unstall detach %s`", target->name);
    remark("%s: TCP_NODELAY %s%s; %s puts all back", target->text, when[s.config.mode],
           s.config.quickack ? ", acknowledgements after two ticks" : "", undo);
    return r->options.detached ? 0 : keep(target, NULL);
}

/* 0, or EXIT_OWN and a complaint: the kernel has the arms off and nodelay only. */
static int experiment_asked(const struct arms *arms, struct attach_experiment *e) {
    if (!arms->count)
        return complain("--assign and --seed: need --arms; try --help");
    e->arms = arms->count;
    e->seed = arms->seed;
    e->assignment = arms->assignment;
    for (uint32_t i = 0; i < e->arms; i++) {
        if (arms->mode[i] != MODE_OFF && arms->mode[i] != MODE_NODELAY)
            return complain("--arms: expected only off and nodelay, the arms in the kernel");
        e->nodelay |= (__u32)(arms->mode[i] == MODE_NODELAY) << i;
        e->weight[i] = arms->weight[i];
    }
    return 0;
}

/* `unstall ab --live` runs this, and reads its lines. */
static int carry(struct request *r) {
    const struct attach_target *target = &r->target;
    struct experiment e;
    char error[ATTACH_ERROR] = "";
    r->options.mode = ATTACH_ALWAYS;
    if (experiment_asked(&r->words.arms, &r->options.experiment) != 0)
        return EXIT_OWN;
    if (r->not_found[0])
        return complain("%s", r->not_found);
    remark_on(target, &r->wish);
    remark_on_library(target);
    catch_signals();
    signal(SIGPIPE, SIG_IGN); /* the reader may be killed */
    if (attach_begin(target, &r->options, error) != 0)
        return complain("%s", error);
    if (error[0])
        remark("%s", error);
    int failed = experiment_open(&e, target->name);
    if (failed) {
        complain("%s: what was measured cannot be read (%s)", target->text, strerror(-failed));
        stop = 1;
    }
    int code = keep(target, failed ? NULL : &e);
    if (!failed)
        experiment_close(&e);
    return failed ? EXIT_OWN : code;
}

/* ---- without privilege -------------------------------------------------------------------- */

static int fetch(const struct request *r, const char *why) {
    struct attach_fetched f;
    char error[ATTACH_ERROR] = "";
    const struct timespec second = {.tv_sec = 1};
    catch_signals();
    if (attach_fetch_begin(&f, r->wish.pid, r->wish.port, error) != 0)
        return complain("%s; BPF programs cannot be loaded: %s", error, why);
    remark("process %d: TCP_NODELAY on its connections by pidfd_getfd, new ones within a second; "
           "Ctrl-C puts all back (BPF programs cure new ones at once, but cannot be loaded: %s)",
           (int)r->wish.pid, why);
    int failed = 0;
    while (!stop && !failed) {
        nanosleep(&second, NULL);
        failed = stop ? 0 : attach_fetch_look(&f);
    }
    size_t cured = f.cured;
    attach_fetch_end(&f);
    if (failed == -ESRCH || failed == -EACCES) /* the folder of a zombie may not be read */
        remark("process %d has ended", (int)r->wish.pid);
    else if (failed)
        return complain("%d: its sockets may not be taken any more (%s)", (int)r->wish.pid,
                        strerror(-failed));
    else
        remark("process %d: put back; %zu connection%s had been cured", (int)r->wish.pid, cured,
               cured == 1 ? "" : "s");
    if (!cured)
        remark("process %d: nothing was cured: it has made no connection%s that lasted a second, or has set "
               "TCP_NODELAY itself",
               (int)r->wish.pid, r->wish.port ? " with that port" : "");
    return cured ? 0 : EXIT_NOTHING;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Takes the present option if it names a target.  0, EXIT_OWN and a complaint, or -1: another option. */
static int target_option(struct args *a, struct attach_wish *w) {
    const char *value = NULL, *port = NULL;
    long number = 0;
    if (args_value(a, "--unit", &value)) {
        w->kind |= WISH_UNIT;
        w->name = w->unit;
        return unit_name(value, w->unit);
    }
    if (args_value(a, "--cgroup", &value) && !value[0]) /* of a variable that is not set */
        return complain("--cgroup: expected a path; / is the whole host");
    if (value)
        w->kind |= WISH_CGROUP;
    else if (args_value(a, "--container", &value))
        w->kind |= WISH_CONTAINER;
    else if (args_flag(a, "--all"))
        w->kind |= WISH_ALL;
    else if (!args_value(a, "--port", &port))
        return -1;
    else if (!number_of("--port", port, 1, UINT16_MAX, &number))
        return EXIT_OWN;
    else
        w->port = (uint16_t)number;
    if (value)
        w->name = value;
    return 0;
}

/* The present word as a PID; `expected` tells what else it could be. */
static int take_process(const struct args *a, struct attach_wish *w, const char *expected) {
    long number = 0;
    if (w->pid)
        return complain("%s: one PID at a time; try --help", a->word);
    if (!is_number(a->word, 1, INT_MAX, &number))
        return complain("%s: expected the id of a process, %s", a->word, expected);
    w->pid = (pid_t)number;
    w->kind |= WISH_PROCESS;
    return 0;
}

/* How many targets are named; a port alone is one. */
static int targets(const struct attach_wish *w) {
    return w->kind ? __builtin_popcount((unsigned)w->kind) : w->port != 0;
}

static int mode_of(const char *name) {
    return strcmp(name, "proof") == 0 ? ATTACH_PROOF : strcmp(name, "always") == 0 ? ATTACH_ALWAYS : -1;
}

static int take_option(struct request *r, struct args *a) {
    const char *value = NULL;
    long number = 0;
    int taken = target_option(a, &r->wish);
    if (taken >= 0)
        return taken;
    if (arms_option(a, &r->words))
        return 0;
    if (args_flag(a, "--list")) {
        r->list = true;
    } else if (args_flag(a, "--quickack")) {
        r->options.quickack = true;
    } else if (args_flag(a, "--detach")) {
        r->options.detached = true;
    } else if (args_value(a, "--mode", &value)) {
        r->options.mode = mode_of(value);
        if (r->options.mode < 0 && strcmp(value, "late") == 0)
            return complain("--mode late: there is no such mode any more; use --mode always, which cures "
                            "before the first stall too");
        if (r->options.mode < 0)
            return complain("--mode %s: expected proof or always", value);
    } else if (args_value(a, "--verbose", &value)) {
        if (!number_of("--verbose", value, 0, 2, &number))
            return EXIT_OWN;
        r->options.verbose = (int)number;
    } else {
        return args_unknown(a);
    }
    return 0;
}

static int run_attach(int argc, char **argv) {
    struct args a = args_begin(&verb_attach, argc, argv);
    struct request r = {.options = {.mode = -1}};
    enum args_kind kind;
    int failed;
    while ((kind = args_next(&a)) != ARGS_END) {
        failed = kind == ARGS_WORD ? take_process(&a, &r.wish, "or a target by an option; try --help")
                                   : take_option(&r, &a);
        if (failed)
            return failed;
    }
    if (r.list)
        return targets(&r.wish) == 0
                   ? list_all()
                   : complain("--list shows all that is attached; give it no target");
    if (targets(&r.wish) != 1)
        return complain("give one target: a PID, --cgroup, --unit, --container, --port or --all");
    char refused[PROCESS_WHY];
    if (r.wish.pid && process_refused(r.wish.pid, refused))
        return complain("%s", refused);
    if (attach_find(&r.wish, &r.target, r.not_found) == 0)
        r.not_found[0] = '\0';
    else if (r.wish.kind >= WISH_CGROUP) /* before a BPF file system is mounted for it */
        return complain("%s", r.not_found);
    const char *why = r.wish.pid && r.not_found[0] ? r.not_found : attach_obstacle();
    if (why && r.words.given)
        return complain("%s", why);
    if (r.words.given || r.words.seeded)
        return carry(&r);
    if (why && r.wish.pid && !r.options.detached && !r.options.quickack &&
        (r.options.mode < 0 || r.options.mode == ATTACH_ALWAYS))
        return fetch(&r, why);
    if (why || r.not_found[0])
        return complain("%s", why ? why : r.not_found);
    return attach(&r);
}

const struct verb verb_attach = {
    .name = "attach",
    .summary = "Cure programs that run already, also those that no preload reaches",
    .usage = "[OPTION]... [PID]",
    .help = "  PID               the connections of this process\n"
            "  --unit NAME       of this unit of systemd\n"
            "  --container NAME  of the processes in this container, by name or id\n"
            "  --cgroup PATH     of the processes in this cgroup\n"
            "  --all             of this host\n"
            "  --port PORT       only those with this port on one of their sides\n"
            "  --mode MODE       proof or always: TCP_NODELAY once a stall is proved, or at\n"
            "                    once. Without it: proof where the kernel can, else always\n"
            "  --quickack        also acknowledge within two ticks of the kernel, against the\n"
            "                    peer's stalls\n"
            "  --detach          stay in force after the end of this command\n"
            "  --list            show what is attached\n"
            "  --verbose LEVEL   0, 1 or 2: 2 shows why the kernel refuses the BPF programs\n"
            "\n"
            "In the foreground until Ctrl-C, then every connection gets its own value back.\n"
            "Needs root and Linux 6.1. One process of your own can be cured without them;\n"
            "then a new connection is cured within a second, not when it is made, and the\n"
            "exit code is 1 if none was cured.\n",
    .run = run_attach,
};

/* ---- detach ---------------------------------------------------------------------------------- */

static int detach(const char *name, const char *text) {
    char error[ATTACH_ERROR] = "";
    int failed = attach_end(name, error);
    if (failed == -ENOENT)
        return complain("%s: nothing is attached there; `unstall attach --list` shows what is",
                        text);
    if (failed || error[0])
        complain("%s: %s", text, error);
    if (!failed)
        printf("%s: detached; %sconnections have their own values back\n", text,
               error[0] ? "all other " : "");
    return failed ? EXIT_OWN : finish_output();
}

static int detach_all(void) {
    FREED struct attach_state *list = NULL;
    size_t count = 0;
    char error[ATTACH_ERROR] = "";
    int code = 0;
    if (attach_list(&list, &count, error) != 0)
        return complain("%s", error);
    if (!count)
        printf("nothing is attached\n");
    for (size_t i = 0; i < count; i++)
        if (detach(list[i].name, list[i].name) != 0)
            code = EXIT_OWN;
    return code ? code : finish_output();
}

/* True for a name in the list: the only way to name an attachment whose cgroup was removed. */
static bool is_name(const char *word, char error[ATTACH_ERROR]) {
    FREED struct attach_state *list = NULL;
    size_t count = 0;
    if (attach_list(&list, &count, error) == 0)
        for (size_t i = 0; i < count; i++)
            if (strcmp(list[i].name, word) == 0)
                return true;
    return false;
}

static int run_detach(int argc, char **argv) {
    struct args a = args_begin(&verb_detach, argc, argv);
    struct attach_wish wish = {.pid = 0};
    struct attach_target target = {.pid = 0};
    const char *name = NULL;
    char error[ATTACH_ERROR] = "";
    enum args_kind kind;
    int failed;
    while ((kind = args_next(&a)) != ARGS_END) {
        failed = 0;
        if (kind == ARGS_OPTION && (failed = target_option(&a, &wish)) < 0)
            return args_unknown(&a);
        if (kind == ARGS_WORD && is_name(a.word, error))
            name = a.word;
        else if (kind == ARGS_WORD && error[0])
            failed = complain("%s: %s", a.word, error);
        else if (kind == ARGS_WORD)
            failed = take_process(&a, &wish, "or a name that `unstall attach --list` shows");
        if (failed)
            return failed;
    }
    if (targets(&wish) + (name != NULL) != 1)
        return complain("give one target: a PID, --cgroup, --unit, --container, --port, a name of "
                        "`unstall attach --list`, or --all");
    if (name)
        return detach(name, name);
    if (wish.kind == WISH_ALL)
        return detach_all();
    if (!attach_name(&wish, &target) && attach_find(&wish, &target, error) != 0)
        return complain("%s", error);
    return detach(target.name, target.text);
}

const struct verb verb_detach = {
    .name = "detach",
    .summary = "End `unstall attach`, and give connections their own values back",
    .usage = "[OPTION]... [PID|NAME]",
    .help = "  PID, NAME         the process, or a name of `unstall attach --list`\n"
            "  --unit NAME       what was attached to this unit of systemd\n"
            "  --container NAME  to this container\n"
            "  --cgroup PATH     to this cgroup\n"
            "  --port PORT       to this port\n"
            "  --all             all that is attached\n",
    .run = run_detach,
};
