/* SPDX-License-Identifier: MIT
 *
 * unstall set: changes the mode or the window of a running program.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "errors.h"
#include "format.h"
#include "json.h"
#include "stats_names.h"
#include "stats_files.h"
#include "steer.h"

enum { WAIT_MS = 1000, TARGETS = 256 };

struct request {
    struct steer change;
    struct arms_words words;
    int wait_ms;
    bool asks; /* nothing is to be changed: only tell */
    struct json *json;
    unsigned changed; /* processes to which the change was written */
};

enum { ASKED = STEER_ENDED + 1 };
static const char *const outcomes[] = {"taken", "waits", "ended", "asked"};

static void print_json(struct json *j, const struct reader_file *s, const char *program,
                       const struct stats_header *now, unsigned outcome, unsigned arms,
                       bool killed) {
    json_document(j, "set");
    json_unsigned(j, "pid", s->header.pid);
    json_string(j, "program", program);
    json_string(j, "stats_file", s->path);
    json_string(j, "outcome", outcomes[outcome]);
    json_string(j, "mode_before", mode_name(s->header.mode));
    json_string(j, "mode", mode_name(now->mode));
    json_unsigned(j, "window_us", now->window_us);
    json_unsigned(j, "arms_ended", arms);
    json_bool(j, "killed", killed);
    json_object_end(j);
}

/* The arms of its experiment after the change. */
static struct arms arms_after(const struct reader_file *s, const struct steer *change) {
    const struct stats_control *c = &s->control;
    struct arms arms = {.count = change->mode == STEER_AS_IS ? c->arm_count : 0};
    if (change->arms)
        return *change->arms;
    for (uint32_t i = 0; i < arms.count; i++) {
        arms.mode[i] = c->arm_mode[i];
        arms.weight[i] = c->arm_weight[i];
    }
    return arms;
}

static void print_experiment(const struct arms *arms) {
    printf("an experiment: each new connection gets an arm by chance, ");
    for (uint32_t i = 0; i < arms->count; i++)
        printf("%s%s:%" PRIu32, i ? "," : "", mode_name(arms->mode[i]), arms->weight[i]);
    printf("\n");
}

/* `killed`: the emergency stop is in force, so that a mode waits until it is taken back. */
static void print_text(const struct reader_file *s, const char *program, const struct stats_header *now,
                       unsigned outcome, unsigned arms, bool killed) {
    printf("%u (%s): ", s->header.pid, program);
    if (outcome == STEER_ENDED)
        printf("has ended meanwhile\n");
    else if (outcome == STEER_WAITS)
        printf("written; it takes effect when the next message begins\n");
    else if (now->mode != s->header.mode)
        printf("mode %s -> %s, window %u us\n", mode_name(s->header.mode), mode_name(now->mode),
               now->window_us);
    else
        printf("mode %s, window %u us%s\n", mode_name(now->mode), now->window_us,
               outcome == ASKED && s->control.sequence != s->header.control_seen
                   ? "; a change waits for its next message"
                   : "");
    if (killed)
        printf("%u (%s): stays off: --kill is in force; take it back by unstall set --unkill %u\n",
               s->header.pid, program, s->header.pid);
    if (arms)
        printf("%u (%s): its experiment with %u arms has ended\n", s->header.pid, program, arms);
}

static int set_one(const struct reader_file *s, struct request *r) {
    struct reader_error error;
    struct stats_header now;
    char program[NAME_ROOM];
    unsigned arms = 0;
    unsigned outcome = ASKED;
    now = s->header;
    if (!r->asks) {
        int64_t sequence = steer(s, &r->change, &arms, &error);
        if (sequence < 0)
            return complain("%s", error.text);
        outcome = steer_wait(s, sequence, r->wait_ms, &now);
    }
    r->changed++;
    base_text(s->header.program, program, sizeof(program));
    struct arms experiment = arms_after(s, &r->change);
    bool killed = r->change.killed == STEER_AS_IS ? s->control.killed != 0 : r->change.killed == 1;
    if (r->json)
        print_json(r->json, s, program, &now, outcome, arms, killed);
    else
        print_text(s, program, &now, outcome, arms, killed && r->change.killed == STEER_AS_IS);
    if (!r->json && experiment.count && outcome != STEER_ENDED) {
        printf("%u (%s): ", s->header.pid, program);
        print_experiment(&experiment);
    }
    return 0;
}

static int set_target(const char *word, struct request *r) {
    struct stats_files s;
    int failed = stats_files_open(&s, word, 0, false);
    unsigned before = r->changed;
    if (failed)
        return failed;
    for (size_t i = 0; i < s.count; i++) {
        bool over = s.list[i]->life == LIFE_ENDED || s.list[i]->life == LIFE_KILLED;
        if (!over && set_one(s.list[i], r) != 0)
            failed = EXIT_OWN;
    }
    if (!failed && r->changed == before)
        failed = complain("%s: %s", word,
                          s.folder ? "none of these processes is running"
                                   : "its process has ended; there is nothing to set");
    stats_files_close(&s);
    return failed;
}

static bool is_option(struct args *a, struct request *r, bool *json) {
    const char *value;
    long n = 0;
    if (arms_option(a, &r->words))
        return true;
    if (args_value(a, "--window", &value)) {
        struct config c = {.window_us = 0};
        const char *expected = "";
        if (strcmp(value, "started") != 0 &&
            config_set(&c, "UNSTALL_WINDOW_US", value, &expected) != CONFIG_OK)
            exit(complain("--window %s: expected started, or %s", value, expected));
        r->change.window_us = (int)c.window_us;
    } else if (args_value(a, "--wait", &value)) {
        double seconds = 0;
        size_t digits = strspn(value, "0123456789");
        bool has_unit = digits && value[digits];
        if (has_unit ? !seconds_of("--wait", value, 600, &seconds)
                     : !number_of("--wait", value, 0, 600000, &n))
            exit(EXIT_OWN);
        r->wait_ms = (int)n + (int)(seconds * 1000);
    } else if (args_flag(a, "--kill") || args_flag(a, "--unkill")) {
        int killed = strcmp(a->option, "--kill") == 0;
        if (r->change.killed == !killed)
            exit(complain("--kill and --unkill: choose one of them"));
        r->change.killed = killed;
    } else if (args_flag(a, "--json")) {
        *json = true;
    } else {
        return false;
    }
    return true;
}

static int set_all(char *const *targets, unsigned count, struct request *r, bool as_json) {
    struct json j = json_begin(stdout);
    int failed = 0;
    if (as_json) {
        r->json = &j;
        json_array(&j, NULL);
    }
    for (unsigned i = 0; i < count; i++)
        if (set_target(targets[i], r) != 0)
            failed = EXIT_OWN;
    if (as_json) {
        json_array_end(&j);
        json_end(&j);
        r->json = NULL;
    }
    int unsaid = finish_output();
    return failed ? failed : unsaid;
}

/* A word that is neither a process nor a file nor a service nor a mode. */
static bool is_mistyped(const char *word) {
    char path[4096];
    int pid;
    return !is_pid(word, &pid) && access(word, F_OK) != 0 && !strchr(word, '/') &&
           !is_service(word, path, sizeof(path));
}

static int run(int argc, char **argv) {
    struct args a = args_begin(&verb_set, argc, argv);
    struct request r = {.change = {STEER_AS_IS, STEER_AS_IS, STEER_AS_IS, NULL},
                        .wait_ms = WAIT_MS};
    char *targets[TARGETS];
    unsigned count = 0;
    bool json = false;
    enum args_kind kind;
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_OPTION) {
            if (!is_option(&a, &r, &json))
                return args_unknown(&a);
        } else if (steer_mode(a.word) != STEER_AS_IS) {
            if (r.change.mode != STEER_AS_IS)
                return complain("%s: one mode at a time; try --help", a.word);
            r.change.mode = steer_mode(a.word);
        } else if (is_mistyped(a.word)) {
            return complain("%s: no such mode, process, file or service with --stats; a mode is off, "
                            "observe, nodelay, cork, coalesce, auto or started",
                            a.word);
        } else if (count == TARGETS) {
            return complain("%s: at most %d at a time; give their folder", a.word, TARGETS);
        } else {
            targets[count++] = argv[a.at - 1];
        }
    }
    if (count == 0)
        return args_no_word("PID, FILE, DIR or SERVICE");
    r.asks = r.change.mode == STEER_AS_IS && r.change.window_us == STEER_AS_IS &&
             r.change.killed == STEER_AS_IS && !r.words.given;
    if ((r.words.seeded || r.words.arms.assignment) && !r.words.arms.count)
        return complain("--assign and --seed: need --arms; try --help");
    if (!r.words.seeded)
        r.words.arms.seed = (uint64_t)time(NULL); /* by default, two experiments differ */
    if (r.words.given)
        r.change.arms = &r.words.arms;
    return set_all(targets, count, &r, json);
}

const struct verb verb_set = {
    .name = "set",
    .summary = "Change the mode of a program that runs",
    .usage = "[OPTION]... PID|FILE|DIR|SERVICE... [MODE]",
    .help = "  --window US|started  the longest time that anything is held: in us, or as 2ms\n"
            "  --arms LIST|none     an experiment: each new connection gets one of these by\n"
            "                       chance, as in off:50,auto:50\n"
            "  --assign BY          connection, peer or listener: what gets an arm\n"
            "  --seed N             repeats an assignment\n"
            "  --kill               emergency stop: off for all connections and arms; the\n"
            "                       program itself lives on\n"
            "  --unkill             take --kill back\n"
            "  --wait MS            how long to wait until it is taken up: 1000, or as 30s\n"
            "  --json               what was done, for programs\n"
            "\n"
            "MODE is off, observe, nodelay, cork, coalesce, auto, or started: as the program\n"
            "was started. Without MODE and options the mode in force is told.\n"
            "PID is a process that was started with --stats (UNSTALL_STATS), FILE its\n"
            "statistics file, DIR stands for all processes that have one there, and SERVICE\n"
            "for those of a service that was enabled with --stats.\n"
            "A program takes the change up when its next message begins, and within a\n"
            "window where something is held.\n",
    .run = run,
};
