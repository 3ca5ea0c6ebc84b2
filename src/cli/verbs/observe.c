/* SPDX-License-Identifier: MIT
 *
 * unstall observe: runs a program, or watches a running one, and reports its stalls.  It changes nothing in
 * the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "clock_ns.h"
#include "errors.h"
#include "launch.h"
#include "process_stat.h"
#include "render.h"
#include "report.h"
#include "stats_folder.h"
#include "survey.h"
#include "terminal.h"

struct options {
    const char *report; /* a file; "stderr"; "-": standard output */
    double seconds;     /* 0: until it ends */
    const char *page; /* of HTML, or NULL */
    bool json, who;
};

/* ---- the report ------------------------------------------------------ */

/* 0, or EXIT_OWN and a complaint. */
static int report_begin(const struct options *o, struct page_file *file) {
    *file = (struct page_file){.out = stderr};
    return strcmp(o->report, "stderr") != 0 ? page_file_open(file, "--report", o->report) : 0;
}

static int report_end(struct page_file *file, bool keep) {
    if (file->out == stdout)
        return finish_output();
    if (file->out != stderr)
        return page_file_close(file, keep);
    if ((fflush(stderr) != 0 || ferror(stderr)) && errno != EPIPE) /* as finish_output() */
        return complain("stderr: %s", strerror(errno));
    return 0;
}

static int write_report(const struct options *o, const struct report *about) {
    if (o->page) {
        int code = report_page(o->page, about), failed = finish_output();
        return failed ? failed : code;
    }
    struct page_file file;
    int failed = report_begin(o, &file);
    if (failed)
        return failed;
    int code = report_on(file.out, about, o->json ? report_json : report_text);
    failed = report_end(&file, code != EXIT_OWN);
    return failed ? failed : code;
}

/* ---- a program that this command starts ------------------------------ */

/* The end of a program that --time ended is known. */
static void set_planned_end(struct reader_file *r, pid_t child) {
    if (r->life != LIFE_KILLED || r->header.pid != (uint32_t)child || !launch_was_limited())
        return;
    r->life = LIFE_ENDED;
    r->header.ended_monotonic_ns = r->taken_ns;
}

/* False: the report is lost. */
static bool report_folder(const struct options *o, const char *folder, char *const *argv, pid_t child,
                          const struct who *who) {
    struct stats_files s;
    signal(SIGPIPE, SIG_IGN); /* the folder is removed also where the reader has left (`| head`) */
    if (stats_files_open(&s, folder, READ_ALL, true) != 0)
        return false;
    size_t left = 0;
    for (size_t i = 0; i < s.count; i++) {
        set_planned_end(s.list[i], child);
        left += s.list[i]->life == LIFE_RUNS;
    }
    const struct options in_words = {.report = "stderr"}; /* a page would show nothing */
    int code = write_report(s.count || !o->page ? o : &in_words,
                            &(struct report){.files = &s, .argv = argv, .who = who});
    if (left)
        remark("%zu of its processes still run%s and %s no longer observed; start a daemon in the "
               "foreground",
               left, left == 1 ? "s" : "", left == 1 ? "is" : "are");
    stats_files_close(&s);
    return code != EXIT_OWN;
}

static int observe_program(const struct options *o, struct launch *l) {
    char folder[PATH_MAX];
    launch_hold_signals(l);
    l->to_stderr = strcmp(o->page ? o->page : o->report, "-") == 0;
    int failed = observe_folder_make(folder, sizeof(folder));
    if (failed)
        return failed;
    launch_set("UNSTALL_MODE", "observe");
    launch_set("UNSTALL_STATS", folder);
    unsetenv("UNSTALL_ARMS"); /* an experiment would change the program */
    failed = launch_prepare(l);
    if (!failed) {
        pid_t child = launch_spawn(l);
        if (child > 0) {
            struct who *who = o->who ? who_begin(child) : NULL;
            launch_limit(o->seconds);
            failed = launch_wait(child);
            if (who)
                who_end(who);
            if (!report_folder(o, folder, l->argv, child, who) && !failed)
                failed = EXIT_OWN;
            who_free(who);
        } else {
            failed = (int)-child;
        }
    }
    observe_folder_remove(folder);
    return failed;
}

/* ---- a running process ----------------------------------------------- */

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

/* Before the user is told that Ctrl-C ends it. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Waits until the time is over, the process has ended or the user interrupts. */
static void wait_for_it(const struct reader_file *r, double seconds) {
    enum { TICK_MS = 100 };
    for (long ms = 0; !stopped && (seconds == 0 || (double)ms < seconds * 1000); ms += TICK_MS) {
        int maps = ms % 1000 ? 1 : reader_maps((pid_t)r->header.pid, r->device, r->inode);
        if (maps == 0 || maps == -ESRCH)
            return;
        struct timespec t = {.tv_nsec = TICK_MS * 1000000L};
        nanosleep(&t, NULL);
    }
}

static void print_who(FILE *out, const struct who *who) {
    struct prose p = {.used = 0};
    who_prose(&p, who);
    fputc('\n', out);
    prose_print(out, &p, 0, terminal_width_within(out, 40, 100));
}

/* Through the kernel: what keeps no statistics. */
static int scan(const struct options *o, struct survey *s) {
    const pid_t pid = s->filter.pid;
    char error[SCAN_ERROR] = "";
    struct page_file file = {.out = stdout};
    struct render page = {.json = NULL};
    if (!survey_begin(s, error))
        return complain("%s", error);
    remark("%s %s: it is watched through the kernel%s", s->scope,
           pid ? "keeps no statistics" : "is a service",
           o->seconds > 0 ? "" : "; Ctrl-C ends this and prints the report");
    struct who *who = o->who ? who_begin(pid) : NULL;
    int failed = survey_look(s, o->seconds, NULL);
    if (who)
        who_end(who);
    if (failed)
        failed = complain("the scan has failed: %s", strerror(-failed));
    else
        failed = o->page ? render_begin(&page, o->page) : report_begin(o, &file);
    if (!failed) {
        survey_report(o->page ? page.json : file.out, s, o->json || o->page);
        if (who && !o->json && !o->page)
            print_who(file.out, who);
        failed = o->page ? render_end(&page, true) : report_end(&file, true);
    }
    if (!failed && o->page)
        failed = finish_output();
    int code = failed ? failed : verdict_code(verdict_of(&s->verdict));
    survey_end(s);
    who_free(who);
    return code;
}

static int scan_process(const struct options *o, pid_t pid) {
    struct survey s = {
        .options = {.places = true, .namespace_of = pid}, .filter = {.pid = pid}, .ends_with = pid};
    char why[PROCESS_WHY];
    if (process_refused(pid, why))
        return complain("%s", why);
    if (o->who && (o->json || o->page))
        return complain("--who: process %d keeps no statistics, and the JSON of a scan has no place "
                        "for lines; leave out %s",
                        (int)pid, o->json ? "--json" : "--html");
    snprintf(s.scope, sizeof(s.scope), "process %d", (int)pid);
    return scan(o, &s);
}

/* True: the word is no program here, but a unit of systemd that runs. */
static bool is_unit(const char *word, char cgroup[SCAN_CGROUP]) {
    struct program none;
    return !strchr(word, '/') && program_find(&none, word) == -ENOENT && scan_cgroup_find(word, cgroup);
}

static int observe_unit(const struct options *o, const char *word, const char *cgroup) {
    struct survey s = {.options = {.places = true}, .filter = {.cgroup = cgroup}};
    if (o->who)
        return complain("--who: it stops the threads of one process; give its PID in place of %s", word);
    snprintf(s.scope, sizeof(s.scope), "%.100s", cgroup);
    return scan(o, &s);
}

static int observe_process(const struct options *o, int pid) {
    char path[PATH_MAX];
    struct reader_error error;
    int found = reader_find(pid, path, sizeof(path), &error);
    if (found == -ENOENT)
        return scan_process(o, pid);
    if (found != 0)
        return complain("%s", error.text);
    /* The file stays open, so that it can be read again even if it is deleted. */
    CLOSED_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return complain("%s: %s", path, strerror(errno));
    struct reader_file *before = reader_read_fd(fd, path, READ_ALL, &error);
    if (!before)
        return complain("%s", error.text);
    catch_signals();
    if (o->seconds == 0)
        remark("watching process %d; Ctrl-C ends this and prints the report", pid);
    else if (isatty(STDERR_FILENO))
        remark("watching process %d for %g s; Ctrl-C ends this and prints the report", pid, o->seconds);
    struct who *who = o->who ? who_begin(pid) : NULL;
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    wait_for_it(before, o->seconds);
    uint64_t watched_ns = clock_ns(CLOCK_MONOTONIC) - begin;
    if (who)
        who_end(who);
    struct reader_file *after = reader_read_fd(fd, path, READ_ALL, &error);
    int failed = 0;
    if (after) {
        struct stats_files s = {.list = &after, .count = 1, .watched_ns = watched_ns};
        reader_since(after, before);
        failed = write_report(o, &(struct report){.files = &s, .who = who});
    } else {
        failed = complain("%s", error.text);
    }
    who_free(who);
    reader_free(after);
    reader_free(before);
    return failed;
}

/* ---- the command line ------------------------------------------------ */

/* Options that `run` lacks, or that have another meaning here. */
static bool own_option(struct options *o, struct args *a) {
    const char *value = NULL;
    const struct args_option plain[] = {{"--report", NULL, &o->report},
                                        {"--html", NULL, &o->page},
                                        {"--json", &o->json, NULL},
                                        {"--who", &o->who, NULL},
                                        {0}};
    if (args_take(a, plain))
        return true;
    if (args_value(a, "--time", &value)) {
        if (!seconds_of("--time", value, 1000000, &o->seconds))
            exit(EXIT_OWN);
        return true;
    }
    if (args_value(a, "--mode", &value))
        exit(complain("--mode %s: observe changes nothing; see unstall run --mode", value));
    if (args_value(a, "--stats", &value))
        exit(complain("--stats %s: observe keeps its own statistics while it runs; see unstall run "
                      "--stats",
                      value));
    return false;
}

/* EXIT_OWN, and a complaint, if two options cannot be together, or the page could not be written.  Settles
 * where the report goes. */
static int excluded(struct options *o) {
    if (o->page && o->json)
        return complain("--json and --html: choose one of them");
    if (o->page && o->report)
        return complain("--report and --html: choose one of them");
    if (!o->report)
        o->report = o->json ? "-" : "stderr";
    if (o->page)
        return render_try(o->page);
    return strcmp(o->report, "stderr") != 0 ? page_file_try("--report", o->report) : 0;
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_observe, argc, argv);
    struct launch l = {0};
    struct options o = {0};
    char cgroup[SCAN_CGROUP];
    enum args_kind kind;
    int pid = 0;
    while ((kind = args_next(&a)) == ARGS_OPTION)
        if (!own_option(&o, &a) && !launch_option(&l, &a))
            return args_unknown(&a);
    if (kind != ARGS_WORD)
        return complain("no PROGRAM or PID given; try --help");
    const char *word = a.word;
    bool process = !a.only_words && is_pid(word, &pid);
    bool unit = !a.only_words && !process && is_unit(word, cgroup);
    if (!process && !unit) {
        l.argv = args_rest(&a);
        int failed = excluded(&o);
        return failed ? failed : observe_program(&o, &l);
    }
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_WORD)
            return complain("%s: one PID at a time; a program goes behind --", a.word);
        if (!own_option(&o, &a))
            return args_unknown(&a);
    }
    int failed = excluded(&o);
    if (!failed)
        failed = unit ? observe_unit(&o, word, cgroup) : observe_process(&o, pid);
    return failed;
}

const struct verb verb_observe = {
    .name = "observe",
    .summary = "Run a program, or watch a running one, and tell what stalls in it",
    .usage = "[OPTION]... PID | SERVICE | [--] PROGRAM [ARGUMENT]...",
    .help = "  --time SECONDS    end the program by SIGTERM then; watch the others that long\n"
            "  --report FILE     the report goes there (\"-\": standard output), not to stderr\n"
            "  --html FILE       the report as a page with pictures (\"-\": standard output)\n"
            "  --json            the report for programs, to standard output or --report\n"
            "  --who             name the lines of Python, Java or Ruby: stops the thread at\n"
            "                    a few of its writes, while py-spy, jcmd or rbspy looks at it\n"
            "\n"
            "Nothing is changed in the program, and the exit code is its own. Its standard\n"
            "output goes to stderr where a report has standard output. The statistics\n"
            "are kept in memory (/dev/shm or $XDG_RUNTIME_DIR) and removed at the end.\n"
            "Ctrl-C ends the watching of a PID. If it was not started with --stats, its\n"
            "report is that of unstall scan --pid; that of a running service, where no\n"
            "program has its name, is that of unstall scan --unit. Exit codes of both: 0 no\n"
            "stall, 1 stalls, 2 it cannot be told, 125 the command failed.\n"
            "The options of unstall run work too, except --how, --conf, --mode and --stats.\n",
    .run = run,
};
