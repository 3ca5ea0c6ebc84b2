/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "top_screen.h"

#include <curses.h>

#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "clock_ns.h"
#include "errors.h"
#include "sites.h"
#include "steer.h"
#include "terminal.h"
#include "top_parts.h"

static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static const struct {
    char key;
    enum top_order order;
} orders[] = {
    {'s', TOP_BY_STALLS}, {'e', TOP_BY_EXCHANGES}, {'5', TOP_BY_MEDIAN},   {'9', TOP_BY_P99},
    {'c', TOP_BY_CURED},  {'p', TOP_BY_PID},       {'n', TOP_BY_ENDPOINT},
};

/* ---- the selected line stays selected while the others move ------------ */

static void remember(struct screen *s) {
    if (s->selected >= s->top->count)
        return;
    s->selected_pid = s->top->lines[s->selected].process->header.pid;
    s->selected_row = s->top->lines[s->selected].id;
}

static void find_again(struct screen *s) {
    for (size_t i = 0; i < s->top->count; i++)
        if (s->top->lines[i].process->header.pid == s->selected_pid &&
            stats_same_row(&s->top->lines[i].id, &s->selected_row)) {
            s->selected = i;
            return;
        }
    if (s->selected >= s->top->count)
        s->selected = s->top->count ? s->top->count - 1 : 0;
    if (s->view == VIEW_MODES || s->view == VIEW_ENDPOINT)
        s->view = VIEW_LINES; /* its process has gone */
    remember(s);
}

/* ---- keys ------------------------------------------------------------- */

static void set_mode(struct screen *s, int mode, const char *name) {
    const struct reader_file *p = s->top->lines[s->selected].process;
    struct steer change = {mode, STEER_AS_IS, STEER_AS_IS, NULL};
    struct reader_error error;
    unsigned arms = 0;
    if (steer(p, &change, &arms, &error) < 0)
        snprintf(s->message, sizeof(s->message), "%.*s", TOP_LINE - 1, error.text);
    else
        snprintf(s->message, sizeof(s->message), "%u: %s, from its next message on%s",
                 p->header.pid, name, arms ? "; its experiment has ended" : "");
}

static void choose_mode(struct screen *s, int key) {
    s->view = VIEW_LINES;
    for (size_t i = 0; i < TOP_MODES; i++)
        if (top_modes[i].key == key)
            set_mode(s, top_modes[i].mode, top_modes[i].name);
}

/* Opens the view of an endpoint.  The call sites are read once, because that takes the program's files. */
static void open_endpoint(struct screen *s) {
    const struct top_line *line = &s->top->lines[s->selected];
    struct reader_error ignored;
    size_t size = 0;
    free(s->sites);
    s->sites = NULL;
    s->view = VIEW_ENDPOINT;
    struct reader_file *r = reader_read(line->process->path, READ_ALL, &ignored);
    FILE *out = r ? open_memstream(&s->sites, &size) : NULL;
    if (out) {
        sites_text(out, &(struct stats_files){.list = &r, .count = 1}, &line->id, (unsigned)COLS - 1);
        fclose(out);
    }
    reader_free(r);
}

/* Letters of the filter, which has its effect at once; Enter keeps it, Escape ends it. */
static void type_filter(struct screen *s, int key) {
    char *filter = s->top->filter;
    size_t n = strlen(filter);
    if (key == '\n' || key == '\r' || key == KEY_ENTER)
        s->view = VIEW_LINES;
    else if (key == 27)
        s->view = VIEW_LINES, filter[0] = '\0';
    else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n)
        filter[n - 1] = '\0';
    else if (key > ' ' && key < 127 && n < TOP_FILTER - 1)
        memcpy(filter + n, (char[]){(char)key, '\0'}, 2);
    top_sort(s->top);
    find_again(s);
    s->message[0] = '\0';
    if (s->view == VIEW_FILTER)
        snprintf(s->message, sizeof(s->message), "only lines with: %s", filter);
}

static void choose_order(struct screen *s, int key) {
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
        if (orders[i].key == key) {
            s->top->order = orders[i].order;
            s->top->reversed = false;
        }
    if (key == 'r')
        s->top->reversed = !s->top->reversed;
    top_sort(s->top);
    find_again(s);
}

static void select_line(struct screen *s, int key) {
    size_t last = s->top->count ? s->top->count - 1 : 0, page = top_rows_shown();
    switch (key) {
    case 'k':
    case KEY_UP: s->selected -= s->selected > 0; break;
    case 'j':
    case KEY_DOWN: s->selected += s->selected < last; break;
    case KEY_PPAGE: s->selected -= s->selected < page ? s->selected : page; break;
    case KEY_NPAGE: s->selected += last - s->selected < page ? last - s->selected : page; break;
    case KEY_HOME: s->selected = 0; break;
    case KEY_END: s->selected = last; break;
    default: return;
    }
    remember(s);
}

/* False: quit. */
static bool act(struct screen *s, int key) {
    s->message[0] = '\0';
    if (s->view == VIEW_MODES) {
        choose_mode(s, key);
        return true;
    }
    if (s->view == VIEW_FILTER) {
        type_filter(s, key);
        return true;
    }
    if (s->view == VIEW_HELP) {
        s->view = VIEW_LINES;
        return key != 'q';
    }
    if (s->view == VIEW_ENDPOINT && key != 'm') {
        s->view = VIEW_LINES;
        return true;
    }
    switch (key) {
    case 'q': return false;
    case '?':
    case 'h': s->view = VIEW_HELP; break;
    case 'm': s->view = s->top->count ? VIEW_MODES : VIEW_LINES; break;
    case '\n':
    case '\r':
    case KEY_ENTER:
        if (s->top->count)
            open_endpoint(s);
        break;
    case '/':
        s->view = VIEW_FILTER;
        type_filter(s, 0);
        break;
    case 27: type_filter(s, key); break;
    case ' ': s->paused = !s->paused; break;
    case '+': s->interval = s->interval > 0.2 ? s->interval / 2 : 0.1; break;
    case '-': s->interval = s->interval < 1800 ? s->interval * 2 : 3600; break;
    default: choose_order(s, key); select_line(s, key);
    }
    return true;
}

/* ---- the loop --------------------------------------------------------- */

static double now(void) {
    return (double)clock_ns(CLOCK_MONOTONIC) / 1e9;
}

static int loop(struct screen *s) {
    double due = now() + 0.3; /* the first rates appear soon */
    int failed = top_look(s->top);
    remember(s);
    while (!failed && !ended) {
        top_draw(s);
        double left = due - now();
        timeout(s->paused ? 1000 : left > 0 ? (int)(left * 1000) + 1 : 0);
        int key = getch();
        if (key != ERR && key != KEY_RESIZE && !act(s, key))
            break;
        if (now() < due || s->paused)
            continue;
        failed = top_look(s->top);
        find_again(s);
        due = now() + s->interval;
    }
    return failed;
}

static void set_up(struct screen *s) {
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    set_escdelay(25);
    s->colours = has_colours(stdout) && has_colors();
    if (s->colours) {
        start_color();
        use_default_colors();
        init_pair(TOP_STALL_PAIR, COLOR_RED, -1);
        init_pair(TOP_CURED_PAIR, COLOR_GREEN, -1);
    }
}

/* NULL also for a terminal such as `dumb`, which is known, but cannot place the cursor. */
static SCREEN *new_screen(void) {
    SCREEN *screen = newterm(NULL, stdout, stdin);
    if (!screen || tigetstr("cup"))
        return screen;
    endwin();
    delscreen(screen);
    return NULL;
}

int top_screen(struct top *t, double interval) {
    static struct screen s;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return complain("stdin and stdout must be a terminal; --once needs none");
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C");
    s = (struct screen){.top = t, .interval = interval, .ascii = !speaks_utf8()};
    /* stats_files_open() complains on stderr: try it before the screen is set up. */
    struct stats_files probe;
    int failed = stats_files_open(&probe, t->watched, 0, true);
    if (failed)
        return failed;
    stats_files_close(&probe);
    SCREEN *screen = new_screen();
    if (!screen)
        return complain("TERM=%s: unknown, or without a cursor; --once needs none",
                        getenv("TERM") ? getenv("TERM") : "");
    set_up(&s);
    failed = loop(&s);
    endwin();
    delscreen(screen);
    free(s.sites);
    top_end(t);
    return failed;
}
