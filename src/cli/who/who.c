/* SPDX-License-Identifier: MIT
 *
 * The look at a process: follows its threads by ptrace(2) and asks a tool at their writes; and what it has
 * found, in words and as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "clock_ns.h"
#include "format.h"
#include "process_stat.h"
#include "program.h"
#include "who_tool.h"

enum { FDS = 64, ANSWER_MOST = 1 << 20, TICK_US = 50000, THREADS_ROUNDS = 8 };

/* The writes of a connection since the process last read from it. */
struct sent {
    int fd; /* + 1; 0: free */
    unsigned count;
    bool asked;      /* the tool was asked at the first of these writes */
    bool asked_last; /* ... at the last one of all */
    uint64_t last;   /* its bytes; 0: there was none */
};

struct look {
    pid_t pid;
    const struct who_tool *tool;
    struct who *who;
    struct sent sent[FDS];
    bool in_pieces;     /* a message of two writes has been seen */
    uint64_t behind[2]; /* so has a write behind one that was not acknowledged: the bytes of both; 0: not */
    pid_t asking;       /* the tool that runs, or 0 */
    bool ended;
    int64_t until_ns;
    char answer[ANSWER_MOST];
};

static void note(struct who *w, const char *text, const char *more) {
    snprintf(w->note, sizeof(w->note), "%s%s", text, more);
}

/* ---- system calls of a stopped thread -------------------------------- */

/* The kinds of system calls at whose entry a thread may stop. */
enum who_call { CALL_OTHER, CALL_SEND, CALL_RECEIVE, CALL_CLOSE };

enum { PIECES_MOST = 16 };

static bool peek(pid_t thread, uint64_t from, void *to, size_t bytes) {
    void *at = (void *)(uintptr_t)from; // NOLINT(performance-no-int-to-ptr): of another process
    struct iovec here = {to, bytes}, there = {at, bytes};
    return process_vm_readv(thread, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

/* The bytes of a vector; a program of another word size has another layout and counts as 0. */
static uint64_t sum_of(pid_t thread, uint64_t at, uint64_t count) {
    struct iovec piece[PIECES_MOST];
    uint64_t bytes = 0;
    if (count > PIECES_MOST)
        count = PIECES_MOST;
    if (!count || !peek(thread, at, piece, (size_t)count * sizeof(piece[0])))
        return 0;
    for (uint64_t i = 0; i < count; i++)
        bytes += piece[i].iov_len;
    return bytes;
}

static uint64_t message_bytes(pid_t thread, uint64_t at) {
    struct msghdr m;
    return peek(thread, at, &m, sizeof(m)) ? sum_of(thread, (uint64_t)(uintptr_t)m.msg_iov, m.msg_iovlen) : 0;
}

/* The call that a stopped thread is about to make, its descriptor, and the bytes that it sends. */
static enum who_call call_now(pid_t thread, int *fd, uint64_t *bytes) {
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof(info), &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return CALL_OTHER;
    const uint64_t *argument = (const uint64_t *)info.entry.args;
    *fd = (int)argument[0];
    *bytes = argument[2];
    switch (info.entry.nr) {
    case SYS_write:
    case SYS_sendto:
        return CALL_SEND;
    case SYS_writev:
        *bytes = sum_of(thread, argument[1], argument[2]);
        return CALL_SEND;
    case SYS_sendmsg:
        *bytes = message_bytes(thread, argument[1]);
        return CALL_SEND;
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return CALL_RECEIVE;
    case SYS_close:
        return CALL_CLOSE;
    default:
        return CALL_OTHER;
    }
}

/* Asks an option of a descriptor of a process. */
static bool asks(pid_t pid, int fd, int level, int option, void *value, socklen_t size) {
    CLOSED_FD process = (int)syscall(SYS_pidfd_open, pid, 0);
    CLOSED_FD ours = process >= 0 ? (int)syscall(SYS_pidfd_getfd, process, fd, 0) : -1;
    return ours >= 0 && getsockopt(ours, level, option, value, &size) == 0;
}

/* True if the descriptor of a process is a TCP socket. */
static bool is_tcp(pid_t pid, int fd) {
    int protocol = 0;
    return asks(pid, fd, SOL_SOCKET, SO_PROTOCOL, &protocol, sizeof(protocol)) && protocol == IPPROTO_TCP;
}

/* True if bytes that it has sent are not acknowledged yet. */
static bool is_unacknowledged(pid_t pid, int fd) {
    struct tcp_info info = {0};
    return asks(pid, fd, IPPROTO_TCP, TCP_INFO, &info, sizeof(info)) && info.tcpi_unacked > 0;
}

/* ---- threads --------------------------------------------------------- */

static void on_tick(int signal_number) {
    (void)signal_number;
}

/* A signal that makes waitpid(2) return at each tick, so that the loop checks the time. */
static void tick(void) {
    struct sigaction action = {.sa_handler = on_tick};
    struct itimerval timer = {{0, TICK_US}, {0, TICK_US}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* Follows all threads: a new one is followed by itself.  0, or an errno. */
static int follow(pid_t pid) {
    int followed = 0, error = ESRCH;
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
    for (int round = 0, more = 1; more && round < THREADS_ROUNDS; round++) {
        CLOSED_FOLDER *tasks = process_folder(pid, "task");
        more = 0;
        for (const struct dirent *entry; tasks && (entry = readdir(tasks)) != NULL;) {
            pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
            if (thread <= 0)
                continue;
            if (ptrace(PTRACE_SEIZE, thread, 0, options) == 0) {
                ptrace(PTRACE_INTERRUPT, thread, 0, 0);
                followed++;
                more = 1;
            } else if (!followed) {
                error = errno;
            }
        }
    }
    return followed ? 0 : error;
}

static void at_call(struct look *l, pid_t thread);

/* Handles one event; false: nothing happened until the tick. */
static bool step(struct look *l) {
    int status;
    pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) {
        l->ended |= errno == ECHILD;
        return false;
    }
    if (thread == l->asking && !WIFSTOPPED(status)) {
        l->asking = 0;
        return true;
    }
    if (!WIFSTOPPED(status)) {
        l->ended |= thread == l->pid;
        return true;
    }
    int with = WSTOPSIG(status), event = status >> 16;
    if (with == (SIGTRAP | 0x80)) {
        at_call(l, thread);
        with = 0;
    } else if (event == PTRACE_EVENT_STOP && with != SIGTRAP) {
        ptrace(PTRACE_LISTEN, thread, 0, 0); /* the program has been stopped, by Ctrl-Z for example */
        return true;
    } else if (event) {
        with = 0;
    }
    ptrace(PTRACE_SYSCALL, thread, 0, with);
    return true;
}

/* ---- the tool -------------------------------------------------------- */

static pid_t start_tool(const struct look *l, int out) {
    char number[16];
    char *words[8];
    unsigned count = 0;
    pid_t here = getpid(), child = fork();
    if (child != 0)
        return child;
    snprintf(number, sizeof(number), "%d", (int)l->pid);
    for (const char *const *word = l->tool->arguments; *word && count < 7; word++)
        words[count++] = strcmp(*word, "PID") == 0 ? number : strdup(*word);
    words[count] = NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsetenv("LD_PRELOAD");
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (getppid() == here && words[0])
        execvp(words[0], words);
    _exit(errno == ENOENT ? 127 : 126);
}

/* Takes the tool's error message: its first line with text, if it has printed no frame. */
static void refused(struct look *l) {
    char *line = l->answer + strspn(l->answer, " \n");
    line[strcspn(line, "\n")] = '\0';
    if (!l->who->note[0])
        snprintf(l->who->note, sizeof(l->who->note),
                 "%s has named no frame of the thread that writes%s%.180s",
                 l->tool->name, line[0] ? ": " : "", line);
}

/* Asks the tool while the thread is stopped; the other threads go on. */
static bool ask(struct look *l, pid_t thread, struct trace *t) {
    CLOSED_FD out = memfd_create("answer", MFD_CLOEXEC);
    if (out < 0)
        return false;
    l->who->questions++;
    pid_t child = l->asking = start_tool(l, out);
    int64_t until = (int64_t)clock_ns(CLOCK_MONOTONIC) + TOOL_SECONDS * INT64_C(1000000000);
    while (child > 0 && l->asking && (int64_t)clock_ns(CLOCK_MONOTONIC) < until)
        step(l);
    if (l->asking > 0) {
        kill(child, SIGKILL);
        while (l->asking)
            step(l);
        note(l->who, l->tool->name, " has not answered in time");
    }
    ssize_t n = pread(out, l->answer, sizeof(l->answer) - 1, 0);
    l->answer[n > 0 ? n : 0] = '\0';
    FREED char *first = strndup(l->answer, 200);
    who_tool_parse(l->tool, l->answer, thread, t);
    snprintf(l->answer, sizeof(l->answer), "%s", first ? first : "");
    if (!t->count)
        refused(l);
    return t->count > 0;
}

/* ---- messages -------------------------------------------------------- */

static struct sent *sent_of(struct look *l, int fd) {
    for (unsigned i = 0; i < FDS; i++)
        if (l->sent[i].fd == fd + 1)
            return &l->sent[i];
    for (unsigned i = 0; i < FDS; i++)
        if (!l->sent[i].fd || i == FDS - 1) {
            l->sent[i] = (struct sent){.fd = fd + 1};
            return &l->sent[i];
        }
    return NULL;
}

static void know(struct look *l) {
    snprintf(l->who->tool, sizeof(l->who->tool), "%s", l->tool->name);
    l->who->known = true;
}

/* A message may wait behind the one before.  While a tool is asked, that is acknowledged: the pair is known
 * again by its sizes.  False: the pieces of a message are to be sought. */
static bool at_message(struct look *l, pid_t thread, struct sent *s, uint64_t bytes) {
    struct who *w = l->who;
    bool first = s->count == 0 && s->last;
    if (first && !l->behind[0] && is_unacknowledged(l->pid, s->fd - 1)) {
        l->behind[0] = s->last;
        l->behind[1] = bytes;
    }
    if (!l->behind[0])
        return false;
    if (first && s->asked_last && s->last == l->behind[0] && bytes == l->behind[1]) {
        w->site.bytes[1] = bytes;
        w->behind = ask(l, thread, &w->site.trace[1]);
        if (w->behind)
            know(l);
        return true;
    }
    for (unsigned i = 0; i < FDS; i++) /* one connection at a time */
        l->sent[i].asked_last = false;
    w->site.bytes[0] = bytes;
    s->asked_last = bytes == l->behind[0] && ask(l, thread, &w->site.trace[0]);
    return true;
}

static void at_send(struct look *l, pid_t thread, int fd, uint64_t bytes) {
    struct sent *s = sent_of(l, fd);
    struct who *w = l->who;
    if (s->count == 0 && !is_tcp(l->pid, fd))
        return;
    bool behind = at_message(l, thread, s, bytes);
    s->last = bytes;
    s->count++;
    if (behind)
        return;
    w->site.bytes[s->count == 1 ? 0 : 1] = bytes;
    if (s->count == 1) /* only one connection is asked about at a time */
        for (unsigned i = 0; i < FDS; i++)
            l->sent[i].asked = false;
    if (s->count == 1 && l->in_pieces)
        s->asked = ask(l, thread, &w->site.trace[0]);
    if (s->count != 2)
        return;
    l->in_pieces = true;
    if (s->asked && ask(l, thread, &w->site.trace[1]))
        know(l);
}

/* What it writes next is another message. */
static void reads(struct sent *s) {
    s->count = 0;
    s->asked = false;
    if (!s->last)
        s->fd = 0;
}

static void at_call(struct look *l, pid_t thread) {
    int fd = -1;
    uint64_t bytes = 0;
    enum who_call call = l->asking || l->who->known ? CALL_OTHER : call_now(thread, &fd, &bytes);
    if (call == CALL_SEND && bytes && l->who->questions < LOOKS_MOST)
        at_send(l, thread, fd, bytes);
    else if (call == CALL_CLOSE)
        *sent_of(l, fd) = (struct sent){0};
    else if (call == CALL_RECEIVE)
        reads(sent_of(l, fd));
}

/* ---- all ------------------------------------------------------------- */

/* A program that has just been started is for a moment still this command. */
static bool find_tool(struct look *l) {
    const struct timespec pause = {.tv_nsec = 20000000};
    char program[PATH_MAX];
    for (int i = 0; i < 50 && !(l->tool = who_tool_of(l->pid)); i++)
        nanosleep(&pause, NULL);
    if (!l->tool)
        snprintf(l->who->note, sizeof(l->who->note),
                 "No line is known: process %d (%s) is not one of Python, Java, Node or Ruby", (int)l->pid,
                 base_of(process_program(l->pid, program, sizeof(program))));
    else if (!l->tool->name)
        note(l->who, l->tool->advice, "");
    return l->tool && l->tool->name;
}

/* Looks until both writes of a message are known, a limit is reached, or the process ends. */
static void look_at(pid_t pid, struct who *w) {
    static struct look look; /* of a process apart */
    struct look *l = &look;
    struct program program;
    l->pid = pid;
    l->who = w;
    if (!find_tool(l))
        return;
    if (program_find(&program, l->tool->name) != 0) {
        snprintf(w->note, sizeof(w->note), "%s is not installed, so no line is known; %s", l->tool->name,
                 l->tool->advice);
        return;
    }
    int error = follow(pid);
    if (error) {
        snprintf(w->note, sizeof(w->note),
                 "Process %d may not be stopped for a look: %s; %s", (int)pid, strerror(error),
                 geteuid() ? "ask as its user or as root" : "another program may trace it");
        return;
    }
    tick();
    l->until_ns = (int64_t)clock_ns(CLOCK_MONOTONIC) + LOOK_SECONDS * INT64_C(1000000000);
    while (!w->known && !l->ended && w->questions < LOOKS_MOST &&
           (int64_t)clock_ns(CLOCK_MONOTONIC) < l->until_ns)
        step(l);
    if (!w->known && !w->note[0])
        snprintf(w->note, sizeof(w->note),
                 "No message in two writes, or behind another one, of process %d was seen while its threads "
                 "were followed",
                 (int)pid);
}

/* ---- the process apart ----------------------------------------------- */

/* Memory that both processes share. */
struct shared {
    struct who who; /* the first member, because who_begin() returns its address */
    pid_t looker;
};

struct who *who_begin(pid_t pid) {
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        return NULL;
    pid_t here = getpid(), looker = fork();
    if (looker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_IGN); /* the terminal's Ctrl-C ends the look of the parent */
        signal(SIGALRM, SIG_DFL);
        signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide the end of a tool */
        if (getppid() == here)
            look_at(pid, &s->who);
        _exit(0);
    }
    s->looker = looker;
    return &s->who;
}

void who_end(struct who *w) {
    struct shared *s = (struct shared *)w;
    if (s->looker <= 0)
        return;
    kill(s->looker, SIGKILL); /* the kernel then detaches it from all threads that it traced */
    while (waitpid(s->looker, NULL, 0) < 0 && kill(s->looker, 0) == 0)
        ;
    s->looker = 0;
    w->note[WHO_NOTE - 1] = '\0';
}

void who_free(struct who *w) {
    if (w)
        munmap(w, sizeof(struct shared));
}

/* ---- words --------------------------------------------------------------- */

static unsigned author_of(const struct who *w) {
    int author = site_author(&w->site);
    return author < 0 ? 0 : (unsigned)author;
}

static void add_write(struct prose *p, const struct who *w, unsigned which, const char *written) {
    char text[NAME_ROOM];
    prose_add(p, " (%s) %s ", some_text(w->site.bytes[which], "byte", text), written);
    site_add_author(p, &w->site, which, author_of(w));
}

/* The note; a look that was ended while it waited for a tool has set none, so it gets one here. */
static const char *who_note(const struct who *w) {
    return w->note[0] ? w->note : "The look has ended before both writes of a message were known";
}

void who_prose(struct prose *p, const struct who *w) {
    if (!w->known) {
        prose_add(p, "%s.", who_note(w));
    } else {
        bool behind = w->behind; /* the second write, which is held, is told first then */
        prose_add(p, "As %s tells, the %s", w->tool, behind ? "held message" : "first piece");
        add_write(p, w, behind, "is written by");
        prose_add(p, "; the %s", behind ? "one before" : "second");
        add_write(p, w, !behind, "by");
        prose_add(p, ": %s.", behind ? "set TCP_NODELAY there" : "join them");
    }
    if (w->questions)
        prose_add(p, " The times above include the pauses of its %u question%s.", w->questions,
                  w->questions == 1 ? "" : "s");
}

static void json_write(struct json *j, const struct who *w, unsigned which) {
    const struct trace *t = &w->site.trace[which];
    json_object(j, NULL);
    json_unsigned(j, "bytes", w->site.bytes[which]);
    json_unsigned(j, "author", author_of(w));
    json_array(j, "frames");
    for (const struct frame *f = t->frame; f < t->frame + t->count; f++) {
        json_object(j, NULL);
        json_string(j, "function", f->function);
        json_string(j, "source", f->source[0] ? f->source : NULL);
        json_unsigned_if(j, "line", (uint64_t)f->line, f->line > 0);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

void who_json(struct json *j, const struct who *w) {
    if (!w) {
        json_null(j, "runtime");
        return;
    }
    json_object(j, "runtime");
    json_string(j, "tool", w->known ? w->tool : NULL);
    json_string(j, "note", w->known ? NULL : who_note(w));
    json_bool(j, "behind", w->behind);
    json_array(j, "writes");
    for (unsigned k = 0; w->known && k < 2; k++)
        json_write(j, w, k);
    json_array_end(j);
    json_object_end(j);
}
