/* SPDX-License-Identifier: MIT
 *
 * Lines of strace in, findings out: a line is a call, the table of calls says what it does to its connection,
 * and the writes up to the next input are a message.
 */
#include "explain.h"

#include <errno.h>
#include <string.h>

#include "array.h"
#include "connections.h"
#include "demangle.h"
#include "stats_format.h"

struct strace_log {
    struct connections connections;
    struct findings *out;
    enum line_time time; /* of the first line that has a time */
    int64_t now_ns;      /* time of the present line, without jumps at midnight */
    int64_t raw_ns;      /* the same as the line states it */
    uint64_t lines_timed;
    bool tcpdump; /* has lines that tcpdump prints */
    uint64_t written; /* the connection that the newest line wrote to; 0: it is no write */
    uint64_t written_line;
    bool exact;   /* the durations of some calls are known (-T) */
};

/* One call.  end_ns < 0: its end is not known. */
struct call {
    const char *name, *args;
    long value;
    bool failed;
    int64_t begin_ns, end_ns;
    uint64_t line;
};

/* The MSS of Ethernet and of loopback: a log does not show the real one. */
enum { MSS_USUAL = 1448, MSS_LOOPBACK = 65464 };

/* Later, what was sent has been acknowledged. */
static const int64_t DELAYED_LEAST_NS = LATE_SHORTEST_MS * MS;

/* No timer of a delayed acknowledgement is longer; longer waits are cut. */
static const int64_t LONG_NS = 10000 * MS;

static uint32_t mss_of(const struct connection *conn) {
    bool loopback = strncmp(conn->peer, "127.", 4) == 0 || strncmp(conn->peer, "[::1]", 5) == 0;
    return loopback ? MSS_LOOPBACK : MSS_USUAL;
}

/* ---- messages: writes ---------------------------------------------------------- */

/* The message ends without an answer. */
static void message_drop(struct connection *conn) {
    conn->units = 0;
    conn->open_unit = conn->pushed = false;
    conn->rest_bytes = 0;
}

/* more: the call keeps the segment open (MSG_MORE). */
static void message_write(const struct thread *t, struct connection *conn, uint64_t bytes, bool more,
                          uint64_t line, int64_t at_ns) {
    struct piece piece = {.line = line,
                          .at_ns = at_ns,
                          .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
                          .pid = (int)t->node.key,
                          .waited_ns = t->waited_ns};
    bool goes_on = conn->open_unit;
    if (goes_on)
        piece.bytes += conn->last.bytes;
    else
        conn->units++;
    conn->open_unit = more || conn->corked;
    conn->last = piece;
    if (conn->units == 1) {
        conn->first = piece;
        return;
    }
    if (conn->units == 2)
        conn->second = piece;
    conn->rest_bytes += bytes;
    conn->pushed |= conn->nodelay;
}

/* Who has made the write of this line, unless that is known already. */
static void message_place(struct connection *conn, uint64_t line, const char *place) {
    struct piece *const pieces[] = {&conn->first, &conn->second, &conn->last};
    for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
        if (pieces[i]->line == line && !pieces[i]->place[0])
            snprintf(pieces[i]->place, PLACE_TEXT, "%s", place);
}

static void message_nodelay(struct connection *conn, bool on) {
    conn->nodelay = on;
    if (!on)
        return;
    conn->open_unit = false; /* setting TCP_NODELAY pushes held data */
    conn->pushed |= conn->units > 0;
}

static void message_cork(struct connection *conn, bool on) {
    conn->corked = on;
    conn->open_unit = false;
}

/* ---- messages: input ----------------------------------------------------------- */

static enum message_kind kind_of(const struct connection *conn) {
    uint32_t mss = mss_of(conn);
    bool held =
        conn->units >= 2 && !conn->pushed && conn->first.bytes < mss && conn->rest_bytes < mss;
    bool behind = conn->before.line && conn->units == 1 && !conn->nodelay && !conn->corked &&
                  !conn->open_unit && conn->first.bytes < mss &&
                  conn->first.at_ns - conn->before.at_ns < DELAYED_LEAST_NS;
    if (behind)
        return MESSAGE_BEHIND;
    if (!held)
        return MESSAGE_WHOLE;
    return conn->creation_seen && !conn->had_message ? MESSAGE_FIRST : MESSAGE_PIECES;
}

/* True if the thread waited for most of that time.  Otherwise the time is the application's own. */
static bool was_waiting(const struct thread *t, const struct piece *from, int64_t until_ns) {
    int64_t wait = until_ns - from->at_ns, waited;
    if (from->pid == (int)t->node.key) {
        waited = t->waited_ns - from->waited_ns;
    } else {
        int64_t begin = t->wait_from > from->at_ns ? t->wait_from : from->at_ns;
        waited = (t->wait_to < until_ns ? t->wait_to : until_ns) - begin;
    }
    return wait < LATE_IN_LIBRARY_MS * MS || waited >= wait / 10 * 6;
}

static int port_of(const char *endpoint) {
    const char *colon = strrchr(endpoint, ':');
    return colon ? (int)strtol(colon + 1, NULL, 10) : 0;
}

/* For a connection made before the log began, -yy shows both ends: the service has the smaller port. */
static bool is_server(const struct connection *conn) {
    if (conn->accepted || conn->creation_seen)
        return conn->accepted;
    int local = port_of(conn->local), peer = port_of(conn->peer);
    return local > 0 && peer > 0 && local < peer;
}

static void name_conversation(struct conversation *h, const struct thread *t,
                              const struct connection *conn) {
    h->by_server = is_server(conn);
    const char *service = h->by_server ? conn->local : conn->peer;
    h->port = (uint16_t)port_of(service);
    if (service[0])
        memcpy(h->service, service, sizeof(h->service));
    else
        snprintf(h->service, sizeof(h->service), "descriptor %d", conn->descriptor);
    memcpy(h->command, t->command, sizeof(h->command));
    if (t->program[0])
        snprintf(h->program, sizeof(h->program), "%s", t->program);
    else if ((h->process = t->process) != 0)
        snprintf(h->program, sizeof(h->program), "process %d", t->process);
    else
        snprintf(h->program, sizeof(h->program), "the program");
}

static struct conversation *conversation_of(struct connections *l, const struct thread *t,
                                            struct connection *conn) {
    struct conversation_item *item =
        conn->conversation ? table_find(&l->conversations, conn->conversation) : NULL;
    if (item)
        return &item->conversation;
    static struct conversation like; /* static: it has 5 KiB */
    memset(&like, 0, sizeof(like));
    name_conversation(&like, t, conn);
    uint64_t key = stats_hash(like.by_server ? 2 : 1, like.program, strlen(like.program));
    key = stats_hash(key, like.command, strlen(like.command));
    key = stats_hash(key, like.service, strlen(like.service)) | 1;
    item = table_find(&l->conversations, key);
    if (!item) {
        item = table_add(&l->conversations, key);
        item->conversation = like;
    }
    item->conversation.connections += conn->conversation == 0;
    conn->conversation = key;
    return &item->conversation;
}

/* An answer to pieces within some milliseconds shows that they were not held. */
static void note_unheld(struct conversation *h, const struct connection *conn,
                        enum message_kind kind, uint64_t line, int64_t at_ns) {
    struct unheld m = {.pieces = 0};
    unheld_piece(&m, conn->first.line, conn->first.at_ns, conn->first.bytes);
    for (uint32_t i = 1; i < conn->units && i < 3; i++)
        unheld_piece(&m, conn->second.line, conn->second.at_ns, conn->second.bytes);
    bool held = kind != MESSAGE_WHOLE && at_ns - conn->first.at_ns >= UNHELD_APART_NS;
    if (!held && unheld_answered(&m, line, at_ns))
        conversation_unheld(h, &m);
}

/* Input without a write since the last: the peer's own pieces, one of which may have waited. */
static void more_input(struct connections *l, const struct thread *t, const struct connection *conn,
                       int64_t at_ns) {
    struct conversation_item *item =
        conn->conversation ? table_find(&l->conversations, conn->conversation) : NULL;
    int64_t wait = at_ns - conn->input.at_ns;
    if (item && conn->input.line && wait >= 1 * MS && was_waiting(t, &conn->input, at_ns))
        conversation_more(&item->conversation, wait < LONG_NS ? wait : LONG_NS);
}

/* Input has come: it ends the message. */
static void message_input(struct connections *l, const struct thread *t, struct connection *conn,
                          uint64_t line, int64_t at_ns, bool exact) {
    if (conn->kind == CONNECTION_OTHER)
        return;
    if (conn->units == 0)
        more_input(l, t, conn, at_ns);
    conn->input = (struct piece){
        .line = line, .at_ns = at_ns, .pid = (int)t->node.key, .waited_ns = t->waited_ns};
    if (conn->units == 0)
        return;
    enum message_kind kind = kind_of(conn);
    bool whole = kind == MESSAGE_WHOLE || kind == MESSAGE_BEHIND;
    const struct piece *from = whole ? &conn->last : &conn->second;
    const struct piece *one = kind == MESSAGE_BEHIND ? &conn->before : &conn->first;
    const struct piece *two = kind == MESSAGE_BEHIND ? &conn->first : &conn->second;
    if (at_ns >= from->at_ns && was_waiting(t, from, at_ns)) {
        struct conversation *h = conversation_of(l, t, conn);
        h->exact |= exact;
        uint32_t rest = kind == MESSAGE_BEHIND ? conn->first.bytes : (uint32_t)conn->rest_bytes;
        struct finding_example example = {.number = {one->line, two->line, line},
                                          .at_ns = {one->at_ns, two->at_ns, at_ns},
                                          .bytes = {one->bytes, rest}};
        snprintf(example.from, sizeof(example.from), "%d", conn->descriptor);
        const char *to = !h->by_server ? h->service : conn->peer[0] ? conn->peer : "a client";
        snprintf(example.to, sizeof(example.to), "%s", to);
        memcpy(example.place[0], one->place, PLACE_TEXT);
        memcpy(example.place[1], two->place, PLACE_TEXT);
        note_unheld(h, conn, kind, line, at_ns);
        int64_t wait = at_ns - from->at_ns;
        conversation_add(h, kind, wait < LONG_NS ? wait : LONG_NS, &example);
    } else {
        l->out->unwaited++;
    }
    conn->before = (struct piece){.line = 0};
    if (conn->units >= 2 && !conn->pushed)
        conn->before = conn->last;
    conn->had_message = true;
    message_drop(conn);
}

/* ---- waits and input -------------------------------------------------- */

static void waited(struct thread *t, int64_t begin, int64_t end) {
    int64_t most = 10000 * MS; /* longer waits are cut, so that no sum overflows */
    if (end > begin)
        t->waited_ns += end - begin < most ? end - begin : most;
    t->wait_from = begin;
    t->wait_to = end;
}

/* The time of the input is the end of a read that waited, and the begin of a read that did not. */
static void input(struct strace_log *g, struct thread *t, uint64_t key, uint64_t line,
                  int64_t begin, int64_t end) {
    struct connection *conn = connections_get(&g->connections, key);
    bool lasted = end - begin >= 1 * MS;
    waited(t, begin, end);
    if (conn)
        message_input(&g->connections, t, conn, line, lasted ? end : begin, g->exact);
}

/* Ends the pending wait or read of this thread.  Its end is not known; the thread's next line is the latest
 * time at which it can have ended. */
static void end_pending(struct strace_log *g, struct thread *t) {
    if (!t->pending)
        return;
    t->pending = false;
    if (t->pending_is_input)
        input(g, t, t->pending_connection, t->pending_line, t->pending_ns, g->now_ns);
    else
        waited(t, t->pending_ns, g->now_ns);
}

static void on_wait(struct strace_log *g, struct thread *t, const struct call *c, uint64_t conn,
                    bool is_input) {
    if (c->end_ns < 0) {
        t->pending = true;
        t->pending_is_input = is_input;
        t->pending_connection = conn;
        t->pending_line = c->line;
        t->pending_ns = c->begin_ns;
    } else if (is_input) {
        input(g, t, conn, c->line, c->begin_ns, c->end_ns);
    } else {
        waited(t, c->begin_ns, c->end_ns);
    }
}

static void count(struct strace_log *g, struct connection *conn) {
    if (!conn->counted && (conn->kind == CONNECTION_TCP || conn->kind == CONNECTION_SOCKET))
        g->out->connections++;
    conn->counted |= conn->kind == CONNECTION_TCP || conn->kind == CONNECTION_SOCKET;
}

/* ---- calls ----------------------------------------------------------- */

static void call_read(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (!conn)
        return;
    if (conn->kind == CONNECTION_UNKNOWN && strncmp(c->name, "recv", 4) == 0)
        conn->kind = CONNECTION_SOCKET;
    count(g, conn);
    if (!c->failed && c->value == 0)
        message_drop(conn); /* end of file */
    on_wait(g, t, c, conn->node.key, !c->failed && c->value > 0);
}

static void call_wait(struct strace_log *g, struct thread *t, const struct call *c) {
    on_wait(g, t, c, 0, false);
}

static uint64_t sum_of(const char *args, const char *what) {
    uint64_t sum = 0;
    for (const char *p = args; (p = strstr(p, what)) != NULL; p++)
        sum += strtoul(p + strlen(what), NULL, 10);
    return sum;
}

static void call_write(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (!conn || c->failed || c->value <= 0)
        return;
    bool send = strncmp(c->name, "send", 4) == 0;
    const char *quote = strrchr(c->args, '"'), *flags = quote ? quote : c->args;
    if (send && strstr(flags, "sa_family="))
        conn->kind = CONNECTION_OTHER; /* datagrams with an address */
    if (conn->kind == CONNECTION_UNKNOWN && send && strcmp(c->name, "sendfile") != 0)
        conn->kind = CONNECTION_SOCKET;
    if (conn->kind == CONNECTION_OTHER)
        return;
    count(g, conn);
    bool more = send && strstr(flags, "MSG_MORE");
    if (strcmp(c->name, "sendmmsg") == 0) {
        for (long i = 0; i < c->value && i < 8; i++)
            message_write(t, conn, sum_of(c->args, "msg_len=") / (uint64_t)c->value, more, c->line,
                          c->begin_ns);
        return;
    }
    message_write(t, conn, (uint64_t)c->value, more, c->line, c->begin_ns);
    g->written = conn->node.key;
    g->written_line = c->line;
}

static void call_socket(struct strace_log *g, struct thread *t, const struct call *c) {
    if (c->failed)
        return;
    bool tcp = strncmp(c->args, "AF_INET", 7) == 0 && strstr(c->args, "SOCK_STREAM");
    connections_add(&g->connections, t, (int)c->value, tcp ? CONNECTION_TCP : CONNECTION_OTHER)
        ->creation_seen = true;
}

static void call_connect(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    char peer[ENDPOINT_TEXT];
    connections_address(c->args, peer);
    if (!conn || !peer[0] || conn->kind == CONNECTION_OTHER)
        return;
    memcpy(conn->peer, peer, sizeof(peer));
    conn->kind = CONNECTION_TCP;
    message_drop(conn);
}

static void call_bind(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (conn && !c->failed)
        connections_address(c->args, conn->local);
}

static void call_peer(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    bool ours = strcmp(c->name, "getsockname") == 0;
    char address[ENDPOINT_TEXT];
    connections_address(c->args, address);
    if (conn && !c->failed && address[0])
        memcpy(ours ? conn->local : conn->peer, address, sizeof(address));
}

static void call_accept(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *listener = connections_of_args(&g->connections, t, c->args);
    if (!listener || c->failed)
        return;
    bool tcp = listener->kind != CONNECTION_OTHER, nodelay = listener->nodelay;
    uint64_t listener_key = listener->node.key;
    struct connection *conn =
        connections_add(&g->connections, t, (int)c->value, tcp ? CONNECTION_TCP : CONNECTION_OTHER);
    listener = connections_get(&g->connections, listener_key);
    conn->creation_seen = conn->accepted = true;
    conn->nodelay = nodelay;
    connections_address(c->args, conn->peer);
    if (listener)
        memcpy(conn->local, listener->local, sizeof(conn->local));
}

static void call_option(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (!conn || c->failed)
        return;
    const char *nodelay = strstr(c->args, "TCP_NODELAY, ["), *cork = strstr(c->args, "TCP_CORK, [");
    if (nodelay)
        message_nodelay(conn, strtol(nodelay + 14, NULL, 10) != 0);
    if (cork)
        message_cork(conn, strtol(cork + 11, NULL, 10) != 0);
    if ((nodelay || cork || strstr(c->args, "_TCP, ")) && conn->kind != CONNECTION_OTHER)
        conn->kind = CONNECTION_TCP;
}

static void call_dup(struct strace_log *g, struct thread *t, const struct call *c) {
    bool is_dup = strncmp(c->name, "fcntl", 5) != 0 || strstr(c->args, "F_DUPFD");
    struct connection *conn =
        is_dup && !c->failed ? connections_of_args(&g->connections, t, c->args) : NULL;
    if (conn)
        connections_alias(&g->connections, t, (int)c->value, conn);
}

static void call_close(struct strace_log *g, struct thread *t, const struct call *c) {
    const char *p, *end;
    int number = line_descriptor(c->args, &p, &end);
    if (number >= 0)
        connections_close(&g->connections, t, number);
}

/* Handles a call that returns a descriptor other than a connection's. */
static void call_open(struct strace_log *g, struct thread *t, const struct call *c) {
    if (!c->failed)
        connections_add(&g->connections, t, (int)c->value, CONNECTION_OTHER);
}

static void call_pair(struct strace_log *g, struct thread *t, const struct call *c) {
    const char *p = strrchr(c->args, '[');
    for (int i = 0; i < 2 && p && !c->failed; i++) {
        const char *decoration, *end;
        int number = line_descriptor(p + 1 + strspn(p + 1, " "), &decoration, &end);
        if (number >= 0)
            connections_add(&g->connections, t, number, CONNECTION_OTHER);
        p = strchr(end ? end : p + 1, ',');
    }
}

static void call_file(struct strace_log *g, struct thread *t, const struct call *c) {
    struct connection *conn = connections_of_args(&g->connections, t, c->args);
    if (conn && !c->failed && conn->kind == CONNECTION_UNKNOWN && !strstr(c->args, "S_IFSOCK"))
        conn->kind = CONNECTION_OTHER;
}

static void call_child(struct strace_log *g, struct thread *t, const struct call *c) {
    if (!c->failed && c->value > 0)
        connections_child(&g->connections, t, (int)c->value,
                          strstr(c->args, "CLONE_FILES") || strstr(c->args, "CLONE_THREAD"));
}

/* "/usr/bin/python3" -> "python3". */
static void keep_program(struct thread *t, const char *args) {
    const char *begin = strchr(args, '"'), *end = begin ? strchr(begin + 1, '"') : NULL;
    if (!end)
        return;
    for (const char *p = ++begin; p < end; p++)
        if (*p == '/')
            begin = p + 1;
    snprintf(t->program, sizeof(t->program), "%.*s", (int)(end - begin), begin);
}

/* Keeps the command line of execve's second argument as the user would type it.  It stays empty if strace
 * has cut a word ("..." after the quote), or if a shell would need more quotes. */
static void call_exec(struct strace_log *g, struct thread *t, const struct call *c) {
    (void)g;
    const char *p = strchr(c->args, '['), *end = p ? strstr(p, "], ") : NULL;
    if (c->failed)
        return;
    t->command[0] = t->program[0] = '\0';
    keep_program(t, c->args);
    char command[NAME_TEXT] = "";
    size_t n = 0;
    bool quoted = false;
    for (p = p ? p + 1 : NULL; p && end && p < end; p++) {
        if (strncmp(p, "\"...", 4) == 0 || strchr("\\'$`&;|<>()*?", *p) || n + 1 >= NAME_TEXT ||
            (quoted && *p == ' '))
            break;
        if (*p == '"')
            quoted = !quoted;
        else if (*p != ',')
            command[n++] = *p;
    }
    command[n] = '\0';
    if (p == end)
        memcpy(t->command, command, n + 1);
}

/* The calls that are followed, each name between two blanks. */
static const struct {
    const char *names;
    void (*act)(struct strace_log *g, struct thread *t, const struct call *c);
} calls[] = {
    {" read readv recv recvfrom recvmsg recvmmsg ", call_read},
    {" write writev send sendto sendmsg sendmmsg sendfile sendfile64 ", call_write},
    {" poll ppoll select _newselect pselect6 epoll_wait epoll_pwait epoll_pwait2 io_uring_enter ", call_wait},
    {" socket ", call_socket},
    {" connect ", call_connect},
    {" bind ", call_bind},
    {" accept accept4 ", call_accept},
    {" getpeername getsockname ", call_peer},
    {" setsockopt ", call_option},
    {" dup dup2 dup3 fcntl fcntl64 ", call_dup},
    {" close ", call_close},
    {" open openat openat2 creat eventfd2 epoll_create1 timerfd_create memfd_create signalfd4 inotify_init1"
     " pidfd_open ", call_open},
    {" pipe pipe2 socketpair ", call_pair},
    {" lseek fstat pread64 ftruncate getdents64 ", call_file},
    {" clone clone3 fork vfork ", call_child},
    {" execve execveat ", call_exec},
};

static void apply(struct strace_log *g, struct thread *t, const struct call *c) {
    char name[CALL_NAME + 2];
    snprintf(name, sizeof(name), " %s ", c->name);
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (strstr(calls[i].names, name)) {
            calls[i].act(g, t, c);
            return;
        }
}

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
    apply(g, t, &c);
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
    apply(g, t, &c);
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
    end_pending(g, t);
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
static void tell_unwaited(struct findings *out) {
    char text[NOTE_TEXT];
    if (out->unwaited < VERDICT_LEAST || out->unwaited <= out->exchanges)
        return;
    snprintf(text, sizeof(text),
             "%lu answers came late, and the thread that read them was not seen to wait for them: another "
             "thread did, or the program was busy. A capture can tell (tcpdump -w)",
             (unsigned long)out->unwaited);
    if (findings_count(out, STALL_FOUND, NULL) || out->because[0])
        findings_note(out, "%s.", text);
    else
        memcpy(out->because, text, sizeof(text));
}

int explain_strace(FILE *in, struct findings *out) {
    struct strace_log g = {.out = out};
    int result = -ENOMEM;
    if (connections_make(&g.connections, out)) {
        read_lines(&g, in);
        result = verdict_on_the_file(&g);
        out->of_a_day = g.time != TIME_EPOCH;
    }
    connections_free(&g.connections); /* judges them */
    conversation_judge_all(out);
    if (result == 0)
        tell_unwaited(out);
    fclose(in);
    findings_sort(out);
    return result;
}
