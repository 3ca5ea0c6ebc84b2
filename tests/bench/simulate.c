/* SPDX-License-Identifier: MIT
 *
 * Plays recorded sequences by each strategy, without a network.  Policy and prediction are the library's own
 * code; arithmetic takes the kernel's place.
 *
 * Usage: simulate FILE...     a table for each recording
 *        simulate habit FILE...    how many quick turns make a habit, where no window is kept
 *        simulate frontier    what any predictor could reach for 2 to 6 writes a turn, uniform
 *        simulate uniform N   a recording of N such turns, on standard output
 *
 * A recording has one event a line: `write BYTES`, `read BYTES`, `wait` (anything
 * that ends a turn), `quick` (a wait that found its answer waiting), `glance` (such a
 * wait that asked only whether it may write), `connection` (the events that follow
 * are another one's); # begins a comment.
 *
 * segments: data segments an exchange.  added: system calls an exchange more than
 * bare; less than zero where writes are joined.  missed: turns whose end was not
 * foreseen.
 * `foreseen` is a predictor that knows the future: the limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy.h"

enum { MSS = 65483, WHOLE_READ = 65536, FIRST = 2, MOST = 6 };

/* ---- one connection under one strategy --------------------------------- */

struct player {
    struct policy p;
    struct policy_limits limits;
    bool in_turn;
    bool quick;  /* the last turn was ended by a wait that returned at once */
    bool held;
    size_t buffered;
    unsigned habit; /* turns that make one; 0: a window is kept */
    unsigned quick_turns;
    /* the result */
    unsigned long exchanges, turns, segments, missed;
    long added;
};

/* A new connection starts with the facts of the last one of its endpoint, as by endpoint_join(). */
static void connection(struct player *s, enum mode mode) {
    struct policy before = s->p;
    bool buffers = mode == MODE_COALESCE;
    s->p = (struct policy){.mode = (uint8_t)mode, .established = true, .buffer_limit = buffers ? 16384 : 0};
    if (before.bursty && before.input_ever && !before.nodelay_only) {
        s->p.bursty = s->p.from_cache = true;
        s->p.model = before.model;
    }
    s->limits = (struct policy_limits){
        .small = 4096, .may_hold = true, .windowless = s->habit > 0, .room = buffers ? BUFFER_MOST : 0};
    s->p.quick_turns = s->quick_turns >= s->habit ? HABIT : 0;
    s->in_turn = s->held = false;
    s->buffered = 0;
}

static void input_event(struct player *s, size_t bytes) {
    policy_input(&s->p, bytes, WHOLE_READ, false);
}

static unsigned long in_segments(size_t bytes) {
    return (bytes + MSS - 1) / MSS;
}

static void set_nodelay(struct player *s) {
    s->added++;
    s->p.nodelay = true;
}

static struct policy_action decide(struct player *s, const struct policy_write *w) {
    struct policy_action action = policy_write(&s->p, &s->limits, w);
    if (action.need_facts) {
        s->p.mss = MSS;
        s->added++;
        action = policy_write(&s->p, &s->limits, w);
    }
    return action;
}

static void write_event(struct player *s, size_t bytes) {
    struct policy_write w = {.bytes = bytes};
    if (!s->in_turn) {
        s->in_turn = true;
        s->turns++;
        policy_turn_begins(&s->p, s->quick);
        s->quick = false;
    }
    s->p.position++;
    struct policy_action action = decide(s, &w);
    s->exchanges += action.new_message;
    if (action.late_push)
        set_nodelay(s);
    if (action.how == WRITE_COALESCE) {
        s->buffered += bytes;
        s->added--; /* this write is no call */
        return;
    }
    s->held = action.how == WRITE_MORE;
    if (!s->held)
        s->segments += in_segments(bytes); /* held bytes before it leave in the same one */
    s->buffered = 0;
}

static void turn_ends(struct player *s) {
    if (!s->in_turn)
        return;
    s->in_turn = false;
    if (s->held) {
        s->held = false;
        s->segments++;
        s->missed++;
        set_nodelay(s);
        policy_pushed(&s->p);
    }
    if (s->buffered) {
        struct policy_action action = policy_release(&s->p, &s->limits, s->buffered);
        if (action.need_facts) {
            s->p.mss = MSS;
            action = policy_release(&s->p, &s->limits, s->buffered);
        }
        if (action.late_push)
            set_nodelay(s);
        s->added++; /* the sendmsg */
        s->segments += in_segments(s->buffered);
        s->buffered = 0;
    }
    s->quick_turns += s->p.bursty;
    policy_turn_ends(&s->p);
    s->p.quick_turns = s->quick_turns >= s->habit ? HABIT : 0;
}

/* A wait that returns at once, as exports_wait.c and turn.c have it. */
static void quick_event(struct player *s, bool only_writable) {
    if (!s->in_turn)
        return;
    bool holds = s->held || s->buffered;
    if (policy_asks_first(&s->p) || (only_writable && holds)) {
        policy_asked(&s->p, true);
    } else if (!only_writable) {
        turn_ends(s);
        s->quick = s->p.nodelay;
    }
}

/* ---- recordings -------------------------------------------------------- */

enum kind { EVENT_WRITE, EVENT_READ, EVENT_WAIT, EVENT_QUICK, EVENT_GLANCE, EVENT_CONNECTION, EVENT_KINDS };

static const char *const words[] = {"write", "read", "wait", "quick", "glance", "connection"};

struct event {
    enum kind kind;
    size_t bytes;
};

static struct event *events;
static size_t event_count, event_room;

static void add(enum kind kind, size_t bytes) {
    if (event_count == event_room) {
        event_room = event_room ? 2 * event_room : 1024;
        events = realloc(events, event_room * sizeof(*events));
        if (!events)
            abort();
    }
    events[event_count++] = (struct event){kind, bytes};
}

static bool load(const char *name) {
    char line[256], word[32];
    size_t bytes;
    FILE *file = fopen(name, "r");
    if (!file) {
        perror(name);
        return false;
    }
    event_count = 0;
    add(EVENT_CONNECTION, 0);
    for (int number = 1; fgets(line, sizeof(line), file); number++) {
        bytes = 0;
        if (line[0] == '#' || sscanf(line, "%31s %zu", word, &bytes) < 1)
            continue;
        int kind = EVENT_WRITE;
        while (kind < EVENT_KINDS && strcmp(word, words[kind]) != 0)
            kind++;
        if (kind == EVENT_KINDS) {
            fprintf(stderr, "%s:%d: no event %s\n", name, number, word);
            fclose(file);
            return false;
        }
        add((enum kind)kind, bytes);
    }
    fclose(file);
    return true;
}

static struct player play(enum mode mode, unsigned habit) {
    struct player s = {.habit = habit};
    for (size_t i = 0; i < event_count; i++) {
        const struct event *e = &events[i];
        if (e->kind == EVENT_WRITE) {
            write_event(&s, e->bytes);
            continue;
        }
        if (e->kind == EVENT_QUICK || e->kind == EVENT_GLANCE) {
            quick_event(&s, e->kind == EVENT_GLANCE);
            continue;
        }
        turn_ends(&s);
        if (e->kind == EVENT_CONNECTION)
            connection(&s, mode);
        else if (e->kind == EVENT_READ)
            input_event(&s, e->bytes);
    }
    turn_ends(&s);
    return s;
}

static void row(const char *name, const struct player *s) {
    double n = s->exchanges ? (double)s->exchanges : 1;
    printf("  %-10s %8.3f %8.3f %8lu\n", name, (double)s->segments / n, (double)s->added / n, s->missed);
}

static int tables(int count, char **names) {
    static const enum mode modes[] = {MODE_OFF, MODE_NODELAY, MODE_CORK, MODE_AUTO, MODE_COALESCE};
    for (int i = 0; i < count; i++) {
        if (!load(names[i]))
            return 1;
        struct player bare = play(MODE_OFF, 0);
        printf("%s: %lu exchanges, %lu turns\n  %-10s %8s %8s %8s\n", basename(names[i]),
               bare.exchanges, bare.turns, "strategy", "segments", "added", "missed");
        for (size_t m = 0; m < sizeof(modes) / sizeof(*modes); m++) {
            struct player s = play(modes[m], 0);
            row(mode_names[modes[m]], &s);
        }
        unsigned long fewest = bare.turns < bare.exchanges ? bare.turns : bare.exchanges;
        row("foreseen", &(struct player){.exchanges = bare.exchanges, .segments = fewest});
    }
    return 0;
}

/* ---- habits --------------------------------------------------------------- */

enum { HABIT_EXCHANGES = 200, ENDPOINTS = 10000, HABIT_TURNS = 1000 };

static uint32_t thrown(uint32_t *dice) {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    return *dice ^= *dice << 5;
}

/* One recording again and again, as one process would write it. */
static void repeat_events(void) {
    size_t once = event_count;
    unsigned long exchanges = play(MODE_OFF, 0).exchanges;
    for (unsigned long n = exchanges; n > 0 && n < HABIT_EXCHANGES; n += exchanges)
        for (size_t i = 0; i < once; i++)
            add(events[i].kind, events[i].bytes);
}

/* Of endpoints at which `share` percent of the turns are one piece and computing, which get a late piece
 * within HABIT_TURNS turns?  More than one no endpoint gets. */
static double late_share(unsigned habit, uint32_t share) {
    uint32_t dice = 2463534242;
    unsigned late = 0;
    for (int i = 0; i < ENDPOINTS; i++)
        for (unsigned turn = 0, quick = 0; turn < HABIT_TURNS; turn++) {
            bool computes = thrown(&dice) % 100 < share;
            if (computes && quick >= habit) {
                late++;
                break;
            }
            quick = computes ? 0 : quick + 1;
        }
    return (double)late / ENDPOINTS;
}

static int habits(int count, char **names) {
    static const unsigned habit[] = {1, 2, 4, 8, 16, 32, 64};
    static const uint32_t shares[] = {50, 40, 30, 20, 10, 5};
    printf("%-38s", "quick turns that make a habit");
    for (size_t h = 0; h < sizeof(habit) / sizeof(*habit); h++)
        printf("%7u", habit[h]);
    printf("\nsegments an exchange, of %d\n", HABIT_EXCHANGES);
    for (int i = 0; i < count; i++) {
        if (!load(names[i]))
            return 1;
        repeat_events();
        printf("  %-36s", basename(names[i]));
        for (size_t h = 0; h < sizeof(habit) / sizeof(*habit); h++) {
            struct player s = play(MODE_AUTO, habit[h]);
            printf("%7.3f", (double)s.segments / (double)(s.exchanges ? s.exchanges : 1));
        }
        puts("");
    }
    printf("endpoints with a late piece in %d turns, of which so many end by computing\n", HABIT_TURNS);
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        printf("  %2u %%%33s", shares[i], "");
        for (size_t h = 0; h < sizeof(habit) / sizeof(*habit); h++)
            printf("%7.3f", late_share(habit[h], shares[i]));
        puts("");
    }
    return 0;
}

/* ---- the frontier ------------------------------------------------------ */

/* A predictor that knows the distribution says of each position "last" (plain) or
 * "more" (held).  A plain write that was not the last is a segment more; a held one
 * that was the last needs a push. */
static void outcome(unsigned says_last, double *extra, double *pushes) {
    *extra = *pushes = 0;
    for (int length = FIRST; length <= MOST; length++) {
        for (int at = 1; at < length; at++)
            *extra += (says_last >> at & 1) / (double)(MOST - FIRST + 1);
        *pushes += !(says_last >> length & 1) / (double)(MOST - FIRST + 1);
    }
}

static int frontier(void) {
    printf("2 to %d writes a turn, uniform; what no predictor from the past can pass:\n"
           "  %-28s %15s %12s\n",
           MOST, "said to be the last", "extra segments", "added pushes");
    double least = 1e9;
    for (double most_pushes = 1.01; most_pushes > -0.01; most_pushes -= 0.2) {
        unsigned best = 0;
        double extra, pushes, best_extra = 1e9, best_pushes = 0;
        for (unsigned set = 0; set < 1u << (MOST + 1); set += 2) {
            outcome(set, &extra, &pushes);
            if (pushes <= most_pushes &&
                (extra < best_extra || (extra == best_extra && pushes < best_pushes))) {
                best = set;
                best_extra = extra;
                best_pushes = pushes;
            }
        }
        if (best_extra == least)
            continue;
        least = best_extra;
        char said[64] = "none";
        for (int at = 1, used = 0; at <= MOST; at++)
            if (best >> at & 1)
                used +=
                    snprintf(said + used, sizeof(said) - (size_t)used, "%s%d", used ? " " : "", at);
        printf("  %-28s %15.2f %12.2f\n", said, best_extra, best_pushes);
    }
    return 0;
}

static int uniform(int turns) {
    uint32_t dice = 2463534242;
    printf("# %d turns of 2 to 6 writes, each number as likely as the others\n", turns);
    for (int i = 0; i < turns; i++) {
        for (uint32_t n = FIRST + thrown(&dice) % (MOST - FIRST + 1); n; n--)
            puts("write 50");
        puts("read 50");
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "frontier") == 0)
        return frontier();
    if (argc == 3 && strcmp(argv[1], "uniform") == 0)
        return uniform(atoi(argv[2]));
    if (argc > 2 && strcmp(argv[1], "habit") == 0)
        return habits(argc - 2, argv + 2);
    if (argc < 2) {
        fprintf(stderr, "usage: simulate FILE... | habit FILE... | frontier | uniform TURNS\n");
        return 2;
    }
    return tables(argc - 1, argv + 1);
}
