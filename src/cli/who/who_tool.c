/* SPDX-License-Identifier: MIT */
#include "who_tool.h"

#include <limits.h>
#include <string.h>

#include "array.h"
#include "format.h"
#include "process_stat.h"

/* ---- answers --------------------------------------------------------- */

/* Adds "function" and "/path/source:line" behind the frames so far, or before them: it is called by them. */
static void add(struct trace *t, bool before, const char *function, size_t length, const char *place,
                bool of_runtime) {
    char path[PATH_MAX], name[WHO_NAME];
    if (t->count == WHO_FRAMES && !before)
        return;
    t->count += t->count < WHO_FRAMES;
    struct frame *f = &t->frame[before ? 0 : t->count - 1];
    if (before)
        memmove(f + 1, f, (t->count - 1) * sizeof(*f));
    *f = (struct frame){.kind = FRAME_SCRIPT, .of_runtime = of_runtime};
    snprintf(name, sizeof(name), "%.*s", (int)length, function);
    safe_text(name, f->function, sizeof(f->function));
    snprintf(path, sizeof(path), "%s", place);
    char *colon = strrchr(path, ':');
    f->line = colon ? (int)strtol(colon + 1, NULL, 10) : 0;
    if (colon)
        *colon = '\0';
    base_text(path, f->source, WHO_NAME);
}

/* "Thread 4127 (idle): "MainThread"", then "    send_header (/srv/server.py:3)" */
static void line_of_py_spy(struct trace *t, bool *ours, const char *line, pid_t thread) {
    char place[PATH_MAX];
    if (strncmp(line, "Thread ", 7) == 0)
        *ours = strtol(line + 7, NULL, 0) == thread;
    const char *open = strrchr(line, '(');
    if (!*ours || strncmp(line, "    ", 4) != 0 || !open || open < line + 5)
        return;
    snprintf(place, sizeof(place), "%.*s", (int)strcspn(open + 1, ")"), open + 1);
    add(t, false, line + 4, (size_t)(open - 1 - (line + 4)), place,
        strstr(place, "/lib/python") && !strstr(place, "-packages/"));
}

/* ""main" #1 prio=5 … nid=0x1a2b runnable", then "\tat Talk.send(Talk.java:12)"; of the runtime's own
 * modules "\tat java.net.Socket$SocketOutputStream.write(java.base@17.0.15/Socket.java:1035)" */
static void line_of_jcmd(struct trace *t, bool *ours, const char *line, pid_t thread) {
    char place[PATH_MAX];
    const char *nid = line[0] == '"' ? strstr(line, " nid=") : NULL;
    if (line[0] == '"')
        *ours = nid && strtol(nid + 5, NULL, 0) == thread;
    const char *open = strchr(line, '(');
    if (!*ours || strncmp(line, "\tat ", 4) != 0 || !open)
        return;
    snprintf(place, sizeof(place), "%.*s", (int)strcspn(open + 1, ")"), open + 1);
    add(t, false, line + 4, (size_t)(open - (line + 4)), place, strchr(place, '@') != NULL);
}

/* "send_header - /srv/server.rb:3", and of a function in C "write [c function] - (unknown)"; the outermost
 * frame first.  rbspy knows one stack, that of the thread that runs Ruby's code or ran it last. */
static void line_of_rbspy(struct trace *t, bool *ours, const char *line, pid_t thread) {
    (void)ours;
    (void)thread;
    const char *dash = strstr(line, " - ");
    const char *place = dash ? dash + 3 : "", *colon = strrchr(place, ':');
    bool in_c = strcmp(place, "(unknown)") == 0;
    if (!in_c && (!colon || colon[1 + strspn(colon + 1, "0123456789")] || !colon[1]))
        return;
    add(t, true, line, (size_t)(dash - line), in_c ? "" : place,
        in_c || (strstr(place, "/lib/ruby/") && !strstr(place, "/gems/")));
}

void who_tool_parse(const struct who_tool *tool, char *answer, pid_t thread, struct trace *t) {
    bool ours = false;
    char *rest = answer, *line;
    t->count = 0;
    while ((line = strsep(&rest, "\n")) != NULL)
        tool->line(t, &ours, line, thread);
}

/* ---- the table ------------------------------------------------------- */

static const char *const python[] = {"python", "pypy", NULL}, *const java[] = {"java", NULL},
                         *const ruby[] = {"ruby", NULL}, *const node[] = {"node", NULL},
                         *const py_spy[] = {"py-spy", "dump",  "--nonblocking", "--full-filenames",
                                            "--pid",  "PID", NULL},
                         *const jcmd[] = {"jcmd", "PID", "Thread.print", NULL},
                         *const rbspy[] = {"rbspy", "snapshot", "--nonblocking", "--pid", "PID", NULL};

static const struct who_tool tools[] = {
    {python, "py-spy", py_spy,
     "py-spy (pip install py-spy) names functions and lines of Python",
     line_of_py_spy},
    {java, "jcmd", jcmd,
     "jcmd of a JDK names methods and lines of Java", line_of_jcmd},
    {node, NULL, NULL,
     "Node names its functions if it is started with --perf-basic-prof --interpreted-frames-native-stack",
     NULL},
    {ruby, "rbspy", rbspy,
     "rbspy (cargo install rbspy) names methods and lines of Ruby",
     line_of_rbspy},
};

const struct who_tool *who_tool_for(const char *program) {
    for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
        for (const char *const *p = tools[i].programs; *p; p++)
            if (strncmp(program, *p, strlen(*p)) == 0)
                return &tools[i];
    return NULL;
}

const struct who_tool *who_tool_of(pid_t pid) {
    char program[PATH_MAX];
    return who_tool_for(base_of(process_file(pid, program, sizeof(program))));
}

bool who_advice(struct prose *p, const char *program, const char *target) {
    const struct who_tool *t = who_tool_for(base_of(program));
    if (t && t->name)
        prose_add(p, "%s: unstall observe --who%s", t->advice, target);
    else if (t)
        prose_add(p, "%s.", t->advice);
    return t != NULL;
}
