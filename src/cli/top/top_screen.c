/* SPDX-License-Identifier: MIT
 *
 * `unstall top` on a terminal: ncurses draws, keys act.
 */
#define NCURSES_WIDECHAR 1
#include "top_frame.h"

#include <curses.h>

#include <locale.h>
#include <signal.h>
#include <string.h>

#include "array.h"
#include "bars.h"
#include "clock_ns.h"
#include "closing.h"
#include "control.h"
#include "errors.h"
#include "format.h"
#include "sites.h"
#include "stats_names.h"
#include "steer.h"
#include "terminal.h"

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

enum { FIRST_LINE = 3, STALL_PAIR = 1, CURED_PAIR };

enum view { VIEW_LINES, VIEW_HELP, VIEW_MODES, VIEW_FILTER, VIEW_ENDPOINT };

struct screen {
    struct top *top;
    double interval;
    enum view view;
    bool ascii, colours, paused;
    size_t selected, scrolled;
    uint32_t selected_pid;
    struct stats_row selected_row;
    char message[TOP_LINE];
    char *sites; /* VIEW_ENDPOINT: the call sites of the pieces, as text */
};

/* ---- drawing ------------------------------------------------------------ */

/* The keys that choose a mode. */
static const struct {
    char key;
    int mode;
    const char *name;
} modes[] = {
    {'o', STATS_MODE_OFF, "off"},
    {'b', STATS_MODE_OBSERVE, "observe"},
    {'n', STATS_MODE_NODELAY, "nodelay"},
    {'k', STATS_MODE_CORK, "cork"},
    {'l', STATS_MODE_COALESCE, "coalesce"},
    {'a', STATS_MODE_AUTO, "auto"},
    {'s', CONTROL_KEEP, "as it was started"},
};

static void put(int line, const char *text) {
    move(line, 0);
    addstr(text);
    clrtoeol();
}

static unsigned line_attributes(const struct screen *s, size_t n) {
    const struct top_line *line = &s->top->lines[n];
    unsigned attributes = n == s->selected ? A_REVERSE : 0;
    if (s->colours && proved_stalls(&line->since))
        attributes |= COLOR_PAIR(STALL_PAIR);
    else if (s->colours && line->since.counter[COUNT_STALLS_CURED])
        attributes |= COLOR_PAIR(CURED_PAIR);
    return attributes;
}

/* The lines that have room on the terminal. */
static size_t rows_shown(void) {
    return LINES > FIRST_LINE + 1 ? (size_t)(LINES - FIRST_LINE - 1) : 1;
}

static void draw_none(const struct screen *s) {
    char text[TOP_LINE] = "No process here";
    if (s->top->all)
        snprintf(text, sizeof(text), "No line of %zu has \"%s\"; Escape shows them all", s->top->all,
                 s->top->filter);
    else if (!stats_folder_obstacle(s->top->watched))
        snprintf(text, sizeof(text), "No process here: start one by unstall run --stats %.300s -- PROGRAM",
                 s->top->watched);
    put(FIRST_LINE, text);
}

static void draw_lines(struct screen *s, const struct top_layout *l) {
    char text[TOP_LINE];
    size_t room = rows_shown();
    if (s->selected < s->scrolled)
        s->scrolled = s->selected;
    if (s->selected >= s->scrolled + room)
        s->scrolled = s->selected - room + 1;
    attrset(A_BOLD);
    top_heading(l, text);
    put(FIRST_LINE - 1, text);
    attrset(A_NORMAL);
    for (size_t i = 0; i < room; i++) {
        size_t n = s->scrolled + i;
        text[0] = '\0';
        if (n < s->top->count) {
            top_text(s->top, n, l, text);
            attrset(line_attributes(s, n));
        }
        put(FIRST_LINE + (int)i, text);
        attrset(A_NORMAL);
    }
    if (!s->top->count)
        draw_none(s);
}

static void draw_help(void) {
    static const char *const lines[] = {
        "q          quit",
        "up, down   select a line; k and j too",
        "Enter      the selected endpoint: distribution, who wrote the pieces",
        "m          choose another mode for the selected process, such as off",
        "/          show only lines with a text in program, endpoint, mode or pid",
        "Escape     show all lines again",
        "space      pause, and go on",
        "s e c      sort by stalls, exchanges, cured messages",
        "5 9        sort by the median, by the 99th percentile",
        "p n r      sort by process id, by endpoint; the other way round",
        "+ -        look more often, less often",
        "",
        "Rates and times are those of the last interval.  At a listening",
        "endpoint (\"at\") the peer's own time until it speaks again is in them.",
    };
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        put(FIRST_LINE + (int)i, lines[i]);
}

static void draw_modes(const struct screen *s) {
    char text[TOP_LINE], name[64];
    const struct reader_file *p = s->top->lines[s->selected].process;
    snprintf(text, sizeof(text),
             "The mode of %s (pid %u), now %s:", base_text(p->header.program, name, sizeof(name)),
             p->header.pid, mode_name(p->header.mode));
    put(FIRST_LINE, text);
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
        snprintf(text, sizeof(text), "  %c  %s", modes[i].key, modes[i].name);
        put(FIRST_LINE + 1 + (int)i, text);
    }
    put(FIRST_LINE + 2 + (int)ARRAY_SIZE(modes), "  any other key: leave it");
}

/* Writes the lines of `text` from `line` on, as far as there is room. */
static int put_text(int line, const char *text) {
    char one[TOP_LINE];
    while (text && *text && line < LINES - 1) {
        size_t n = strcspn(text, "\n");
        snprintf(one, sizeof(one), "%.*s", (int)n, text);
        put(line++, one);
        text += n + (text[n] == '\n');
    }
    return line;
}

static void draw_distribution(const struct screen *s, int *at, const struct top_line *line) {
    FREED char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    bars_print(out, line->since.exchange, (unsigned)COLS - 1, s->ascii);
    if (fclose(out) == 0)
        *at = put_text(*at, text);
}

static void draw_endpoint(const struct screen *s) {
    const struct top_line *line = &s->top->lines[s->selected];
    const uint64_t *c = line->since.counter;
    char text[TOP_LINE], past[PAST_TEXT], name[64], address[ENDPOINT_ROOM], lost[NAME_ROOM];
    int at = FIRST_LINE;
    snprintf(text, sizeof(text), "%s (pid %u), %s %s, mode %s",
             base_text(line->process->header.program, name, sizeof(name)),
             line->process->header.pid, line->id.role == ROLE_LISTENER ? "at" : "to",
             row_text(&line->id, address), mode_name(line->mode));
    attrset(A_BOLD);
    put(at++, text);
    attrset(A_NORMAL);
    snprintf(text, sizeof(text), "exchange times, the last %d looks: %s", PAST_LOOKS,
             past_text(line->past, s->ascii, past));
    put(at++, text);
    char behind[64] = "";
    if (c[COUNT_STALLS_CROSSING])
        snprintf(behind, sizeof(behind), " (%lu behind an earlier message)",
                 (unsigned long)c[COUNT_STALLS_CROSSING]);
    snprintf(text, sizeof(text), "since the last look: %lu exchanges, %lu stalls%s, %s lost, %lu cured",
             (unsigned long)c[COUNT_EXCHANGES], (unsigned long)proved_stalls(&line->since), behind,
             time_text(lost_ns(&line->since), s->ascii, lost), (unsigned long)c[COUNT_STALLS_CURED]);
    put(at++, text);
    draw_distribution(s, &at, line);
    put_text(at, s->sites);
}

static void draw(struct screen *s) {
    char text[TOP_LINE];
    struct top_layout layout;
    erase();
    attrset(A_NORMAL);
    top_lay_out(&layout, s->top, (unsigned)COLS, s->ascii);
    top_summary(s->top, &layout, text);
    put(0, text);
    snprintf(text, sizeof(text), "by %s%s, every %.1f s%s%s%s   q quit  ? help  m mode",
             top_order_name(s->top->order), s->top->reversed ? ", reversed" : "", s->interval,
             s->paused ? ", paused" : "", s->top->filter[0] ? ", only " : "", s->top->filter);
    put(1, text);
    if (s->view == VIEW_HELP)
        draw_help();
    else if (s->view == VIEW_MODES)
        draw_modes(s);
    else if (s->view == VIEW_ENDPOINT)
        draw_endpoint(s);
    else
        draw_lines(s, &layout);
    if (s->message[0]) {
        attrset(A_BOLD);
        put(LINES - 1, s->message);
        attrset(A_NORMAL);
    }
    refresh();
}

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
    for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
        if (modes[i].key == key)
            set_mode(s, modes[i].mode, modes[i].name);
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
    CLOSED_FILE *out = r ? open_memstream(&s->sites, &size) : NULL;
    if (out)
        sites_text(out, &(struct stats_files){.list = &r, .count = 1}, &line->id, (unsigned)COLS - 1);
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
    size_t last = s->top->count ? s->top->count - 1 : 0, page = rows_shown();
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
        draw(s);
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
        init_pair(STALL_PAIR, COLOR_RED, -1);
        init_pair(CURED_PAIR, COLOR_GREEN, -1);
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
