/* SPDX-License-Identifier: MIT
 *
 * Lines in, findings out.
 */
#include "explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "demangle.h"
#include "progress.h"

/* Of a longer line, the head (with the descriptor) and the tail (with the result) are kept. */
enum { HEAD = 6144, TAIL = 2048 };

struct text {
    char line[HEAD + TAIL + 1];
    char tail[TAIL]; /* a ring */
    uint64_t length;
};

/* ---- lines ----------------------------------------------------------- */

static void take_byte(struct text *x, char c) {
    if (c < ' ' || c > '~')
        c = '?'; /* strace writes no other characters; a terminal might obey them in the report */
    if (x->length < HEAD)
        x->line[x->length] = c;
    else
        x->tail[(x->length - HEAD) % TAIL] = c;
    x->length++;
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "\x2e\x2f" of strace -xx is "./".  What strace would write with a backslash without -xx stays as it is. */
static void read_hex(char *line) {
    char *to = line;
    for (const char *p = line; *p; to++) {
        bool coded = p[0] == '\\' && p[1] == 'x' && hex(p[2]) >= 0 && hex(p[3]) >= 0;
        int c = coded ? hex(p[2]) * 16 + hex(p[3]) : 0;
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
            *to = (char)c;
            p += 4;
        } else {
            *to = *p++;
        }
    }
    *to = '\0';
}

static void end_line(struct text *x) {
    uint64_t more = x->length > HEAD ? x->length - HEAD : 0, kept = more < TAIL ? more : TAIL;
    uint64_t head = x->length - more;
    for (uint64_t i = 0; i < kept; i++)
        x->line[head + i] = x->tail[(more - kept + i) % TAIL];
    x->line[head + kept] = '\0';
    x->length = 0;
    read_hex(x->line);
}

/* ---- times ----------------------------------------------------------- */

/* A time after 2096, or of another form than the first one, is damaged. */
static const int64_t MOST_NS = 4000000000 * 1000 * MS;

static bool is_usable(const struct strace_log *g, const struct line *in) {
    if (in->time == TIME_NONE || in->time == TIME_COARSE || in->at_ns > MOST_NS)
        return false;
    return g->lines_timed == 0 || in->time == g->time;
}

static void advance(struct strace_log *g, const struct line *in) {
    const int64_t day = INT64_C(24) * 3600 * 1000 * MS;
    if (g->lines_timed++ == 0) {
        g->time = in->time;
        g->now_ns = in->at_ns;
        g->out->from_ns = in->at_ns;
    } else if (in->time == TIME_RELATIVE) {
        g->now_ns += in->at_ns;
    } else {
        int64_t step = in->at_ns - g->raw_ns;
        g->now_ns += in->time == TIME_OF_DAY && step < -day / 2 ? step + day : step;
    }
    if (g->now_ns > MOST_NS)
        g->now_ns = MOST_NS;
    g->raw_ns = in->at_ns;
    if (g->now_ns > g->out->until_ns)
        g->out->until_ns = g->now_ns;
}

/* ---- one line -------------------------------------------------------- */

static void begin_call(struct strace_log *g, struct thread *t, const struct line *in) {
    int length = (int)(in->args_end - in->args);
    t->unfinished = true;
    memcpy(t->name, in->name, sizeof(t->name));
    snprintf(t->args, sizeof(t->args), "%.*s", length, in->args);
    t->began_ns = g->now_ns;
    t->line = g->out->entries;
}

static void end_call(struct strace_log *g, struct thread *t, const struct line *in) {
    char args[ARGS_KEPT + 1024];
    if (!t->unfinished || strcmp(t->name, in->name) != 0)
        return; /* its beginning is not in the log */
    t->unfinished = false;
    snprintf(args, sizeof(args), "%s%.*s", t->args, (int)(in->args_end - in->args), in->args);
    struct call c = {.name = in->name,
                     .args = args,
                     .value = in->value,
                     .failed = in->failed,
                     .begin_ns = t->began_ns,
                     .end_ns = g->now_ns,
                     .line = t->line};
    calls_apply(g, t, &c);
}

static void whole_call(struct strace_log *g, struct thread *t, const struct line *in) {
    struct call c = {.name = in->name,
                     .args = in->args,
                     .value = in->value,
                     .failed = in->failed,
                     .begin_ns = g->now_ns,
                     .end_ns = in->took_ns < 0 ? -1 : g->now_ns + in->took_ns,
                     .line = g->out->entries};
    t->unfinished = false;
    calls_apply(g, t, &c);
}

/* " > /opt/app(send_header+0x14) [0x1234]" behind a call (strace -k), the innermost frame first.  A place is
 * the first frame outside libc. */
static void take_frame(struct strace_log *g, const char *text) {
    struct connection *conn = g->written ? connections_get(&g->connections, g->written) : NULL;
    const char *open = strchr(text, '('), *module = open, *plus = open ? strrchr(open, '+') : NULL;
    char place[PLACE_TEXT], mangled[HEAD], name[PLACE_TEXT] = "code";
    if (!conn || !open)
        return;
    while (module > text + 3 && module[-1] != '/')
        module--;
    if (module == open || strncmp(module, "libc.", 5) == 0 || strncmp(module, "libc-", 5) == 0 ||
        strncmp(module, "libpthread", 10) == 0)
        return;
    if (plus && plus > open + 1) {
        snprintf(mangled, sizeof(mangled), "%.*s", (int)(plus - open) - 1, open + 1);
        demangle(mangled, false, name, sizeof(name));
    }
    snprintf(place, sizeof(place), "%s in %.*s", name, (int)(open - module), module);
    message_place(conn, g->written_line, place);
}

/* "12:00:00.000000 IP 10.0.0.1.4000 > 10.0.0.2.80: Flags [P.], …"; with -q ": tcp 100" */
static bool is_tcpdumps_text(const char *line) {
    const char *to = strstr(line, " > "), *quiet = to ? strstr(to, ": tcp ") : NULL;
    return to && (strstr(to, ": Flags [") || (quiet && quiet[6] >= '0' && quiet[6] <= '9'));
}

static void take_line(struct strace_log *g, const char *text) {
    struct line in;
    line_read(text, &in);
    g->out->entries++;
    g->tcpdump |= in.kind == LINE_OTHER && is_tcpdumps_text(text);
    if (in.kind != LINE_OTHER) {
        g->out->understood++;
        g->written = 0;
    } else if (strncmp(text, " > ", 3) == 0) {
        take_frame(g, text);
    }
    if (in.kind == LINE_OTHER || !is_usable(g, &in)) {
        if (in.time == TIME_COARSE && g->time == TIME_NONE)
            g->time = TIME_COARSE;
        return;
    }
    advance(g, &in);
    g->exact |= in.took_ns >= 0;
    struct thread *t = connections_thread(&g->connections, in.pid);
    calls_end_pending(g, t);
    switch (in.kind) {
    case LINE_UNFINISHED: begin_call(g, t, &in); break;
    case LINE_RESUMED: end_call(g, t, &in); break;
    case LINE_CALL: whole_call(g, t, &in); break;
    case LINE_EXITED: table_drop(&g->connections.threads, t); break;
    case LINE_OTHER: break;
    }
}

/* ---- the file -------------------------------------------------------- */

/* A file without any line of strace is not read to its end. */
enum { LINES_OF_DOUBT = 20000, BYTES_OF_DOUBT = 64 << 20 };

static bool is_hopeless(const struct strace_log *g, uint64_t bytes) {
    return g->out->understood == 0 &&
           (g->out->entries >= LINES_OF_DOUBT || bytes >= BYTES_OF_DOUBT);
}

static void read_lines(struct strace_log *g, FILE *in) {
    static struct text x;
    char chunk[65536];
    uint64_t bytes = 0;
    size_t n;
    x.length = 0;
    while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0 && !is_hopeless(g, bytes)) {
        bytes += n;
        for (size_t i = 0; i < n; i++) {
            if (chunk[i] != '\n') {
                take_byte(&x, chunk[i]);
                continue;
            }
            end_line(&x);
            take_line(g, x.line);
            progress_step(g->out->entries);
        }
    }
    if (x.length > 0) {
        end_line(&x);
        take_line(g, x.line);
    }
    if (ferror(in))
        snprintf(g->out->stopped, NOTE_TEXT, "after line %lu: %s", (unsigned long)g->out->entries,
                 strerror(errno));
}

static int verdict_on_the_file(struct strace_log *g) {
    struct findings *out = g->out;
    if (out->understood == 0 && g->tcpdump)
        snprintf(out->stopped, NOTE_TEXT,
                 "is the text output of tcpdump, which is not enough; record a file: tcpdump -w FILE");
    else if (out->understood == 0)
        snprintf(out->stopped, NOTE_TEXT, "is neither a capture (pcap, pcapng) nor a log of strace");
    else if (g->lines_timed == 0)
        snprintf(out->stopped, NOTE_TEXT, "is a log of strace %s; record it with strace -f -tt -T -yy",
                 g->time == TIME_COARSE ? "with whole seconds only" : "without times");
    else
        return 0;
    out->entries = 0; /* no report */
    return -EINVAL;
}

/* Servers with a pool of threads: one waits in epoll_wait(2) for all, another one reads. */
static void note_unwaited(struct findings *out) {
    if (out->unwaited >= VERDICT_LEAST && out->unwaited > out->exchanges)
        findings_note(out,
                      "%lu more answers came late, and the thread that read them was not seen to wait for "
                      "them: another thread did, or the program was busy. A capture by tcpdump tells.",
                      (unsigned long)out->unwaited);
}

int explain_strace(FILE *in, struct findings *out) {
    struct strace_log g = {.out = out};
    int result = -ENOMEM;
    if (connections_make(&g.connections, out)) {
        read_lines(&g, in);
        result = verdict_on_the_file(&g);
        note_unwaited(out);
        out->of_a_day = g.time != TIME_EPOCH;
    }
    connections_free(&g.connections);
    fclose(in);
    findings_sort(out);
    return result;
}
