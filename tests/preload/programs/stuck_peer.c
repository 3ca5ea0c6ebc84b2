/* SPDX-License-Identifier: MIT
 *
 * Peers that ask and never read: of each connection the last answers were accepted, and the kernel has no
 * room for them.  Both ends are in this process.  And then argv[1]:
 *
 *   programs     system(3) twice, and a fork, with 8 of them: how long each takes
 *   child        a child has had it; it is closed, and another child lives on: what the peer sees then
 *   raw_child    the same, and a child made unseen has other files at all numbers: whether it keeps them
 *   shutdown     while another thread is amid a fork: what the peer sees then
 *   rights       20 changes of rights, and a shutdown: what the peer sees then
 *   idle         how often our process wakes up in a second
 *   closes       200 of them are closed by us, one after the other: how many descriptors are open then
 *   search       a program is looked for in 8 folders that lack it, in four ways: how long each takes, and
 *                what the peer sees then
 *   other_waits  another thread's write waits for room: how long one takes that does not wait, and what the
 *                peer sees then
 *   execv, execvp, exit, _exit, filter
 *                what a peer that begins to read a moment later sees of it, while this program is replaced,
 *                ends, or forbids itself all but a few calls
 *   closed_execv, closed__exit, closed_filter
 *                the same of a connection that this program has closed before
 */
#include "client.h"
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

enum { STUCK = 8, ROUNDS = 200, CHANGES = 20, FOLDERS = 8, SMALL_BUFFER = 4608, MOMENT_MS = 300 };

typedef struct {
    int server, peer;
    size_t put;
} pair_t;

static void nap_ms(long ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    raw_call(SYS_nanosleep, (long)&time, 0, 0, 0, 0);
}

static pair_t connected(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    int small = SMALL_BUFFER, listener = socket(AF_INET, SOCK_STREAM, 0);
    pair_t p = {.peer = socket(AF_INET, SOCK_STREAM, 0)};
    CHECK(bind(listener, (struct sockaddr *)&at, length) == 0 && listen(listener, 1) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&at, &length) == 0);
    CHECK(setsockopt(p.peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    CHECK(connect(p.peer, (struct sockaddr *)&at, sizeof at) == 0);
    CHECK((p.server = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0);
    CHECK(close(listener) == 0);
    CHECK(setsockopt(p.server, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    return p;
}

/* The answer of two writes that is refused comes after one that was accepted and is still with us. */
static pair_t stuck(void) {
    static char answer[HEADER], question;
    pair_t p = connected();
    for (ssize_t n = 0; n >= 0; p.put += n > 0 ? (size_t)n : 0) {
        if (p.put % (2 * HEADER) == 0) {
            CHECK(send(p.peer, "q", 1, 0) == 1);
            CHECK(poll(&(struct pollfd){p.server, POLLIN, 0}, 1, 1000) == 1);
            CHECK(recv(p.server, &question, 1, 0) == 1);
        }
        n = write(p.server, answer, HEADER);
    }
    CHECK(errno == EAGAIN);
    return p;
}

/* What the peer gets until the end of stream, or until nothing comes for two seconds. */
static size_t read_all(const pair_t *p, bool *ended) {
    static char got[65536];
    size_t all = 0;
    long n = 1;
    while (n > 0 && poll(&(struct pollfd){p->peer, POLLIN, 0}, 1, 2000) == 1)
        if ((n = read(p->peer, got, sizeof got)) > 0) all += (size_t)n;
    *ended = n == 0;
    return all;
}

static void fork_and_wait(void) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    CHECK(waitpid(child, NULL, 0) == child);
}

static void programs(void) {
    for (int i = 0; i < STUCK; i++) stuck();
    for (int i = 0; i < 3; i++) {
        long begin = now_us();
        if (i < 2) CHECK(system("true") == 0);
        else fork_and_wait();
        ADD_FACT("\"ms_%d\": %ld", i, (now_us() - begin) / 1000);
    }
}

static void child(void) {
    bool ended;
    pair_t p = stuck();
    fork_and_wait();
    CHECK(close(p.server) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        nap_ms(4000);
        raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    size_t got = read_all(&p, &ended);
    ADD_FACT("\"lost\": %ld, \"ended\": %d", (long)(p.put - got), ended);
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
}

static void raw_child(void) {
    enum { FIRST = 256, LAST = 400 };
    int lost = 0;
    pair_t p = stuck();
    fork_and_wait();
    CHECK(close(p.server) == 0);
    long pid = raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        for (int fd = FIRST; fd < LAST; fd++) raw_call(SYS_dup3, 1, fd, 0, 0, 0);
        close(0); /* the first call that a library sees */
        for (int fd = FIRST; fd < LAST; fd++) lost += raw_call(SYS_fcntl, fd, F_GETFD, 0, 0, 0) < 0;
        raw_call(SYS_exit_group, lost, 0, 0, 0, 0);
    }
    CHECK(waitpid((pid_t)pid, &lost, 0) == pid);
    ADD_FACT("\"lost\": %d", WEXITSTATUS(lost));
}

static int amid_fork, go_on;

static void before_fork(void) {
    __atomic_store_n(&amid_fork, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&go_on, __ATOMIC_SEQ_CST)) nap_ms(1);
}

static void *forks(void *unused) {
    if (fork() == 0) raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    return unused;
}

static void shut_amid_fork(void) {
    pthread_t thread;
    bool ended;
    pair_t p = stuck();
    CHECK(pthread_atfork(before_fork, NULL, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, forks, NULL) == 0);
    while (!__atomic_load_n(&amid_fork, __ATOMIC_SEQ_CST)) nap_ms(1);
    CHECK(shutdown(p.server, SHUT_WR) == 0);
    __atomic_store_n(&go_on, 1, __ATOMIC_SEQ_CST);
    CHECK(pthread_join(thread, NULL) == 0);
    size_t got = read_all(&p, &ended);
    ADD_FACT("\"lost\": %ld, \"ended\": %d", (long)(p.put - got), ended);
}

static void change_rights(void) {
    bool ended;
    pair_t p = stuck();
    for (int i = 0; i < CHANGES; i++) CHECK(setgid(getgid()) == 0);
    CHECK(shutdown(p.server, SHUT_WR) == 0);
    size_t got = read_all(&p, &ended);
    ADD_FACT("\"lost\": %ld, \"ended\": %d", (long)(p.put - got), ended);
}

static void idle(void) {
    struct rusage before, after;
    stuck();
    nap_ms(300);
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    nap_ms(1000);
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    ADD_FACT("\"wakes\": %ld", after.ru_nvcsw - before.ru_nvcsw);
}

static void closes(void) {
    for (int i = 0; i < ROUNDS; i++) CHECK(close(stuck().server) == 0);
    nap_ms(300);
    int open = -ROUNDS - 1; /* the peers' ends, and the directory's own */
    DIR *directory = opendir("/proc/self/fd");
    for (struct dirent *e; (e = readdir(directory));) open += e->d_name[0] != '.';
    ADD_FACT("\"open\": %d", open);
}

static void *write_and_wait(void *pair) {
    static char answer[HEADER];
    CHECK(write(((pair_t *)pair)->server, answer, HEADER) == HEADER);
    return NULL;
}

static void other_waits(void) {
    bool ended;
    pthread_t thread;
    pair_t p = stuck();
    CHECK(fcntl(p.server, F_SETFL, 0) == 0);
    CHECK(pthread_create(&thread, NULL, write_and_wait, &p) == 0);
    nap_ms(MOMENT_MS);
    long begin = now_us();
    ssize_t n = send(p.server, "more", 4, MSG_DONTWAIT);
    CHECK(n == 4 || (n < 0 && errno == EAGAIN));
    ADD_FACT("\"ms\": %ld", (now_us() - begin) / 1000);
    CHECK(shutdown(p.peer, SHUT_WR) == 0);
    p.put += HEADER + (n > 0 ? 4 : 0);
    size_t got = read_all(&p, &ended);
    CHECK(pthread_join(thread, NULL) == 0);
    ADD_FACT("\"lost\": %ld", (long)(p.put - got));
}

static char *const none[] = {NULL};

static void run_absent(int way, int folder) {
    char path[40];
    snprintf(path, sizeof path, "/none/%d/program", folder);
    if (way == 0) execve(path, none, none);
    if (way == 1) execvp("program", none);
    if (way == 2) raw_call(SYS_close, execveat(AT_FDCWD, path, none, none, 0), 0, 0, 0, 0);
    if (way == 3) fexecve(-1, none, none);
}

static void search(void) {
    bool ended;
    pair_t p = stuck();
    CHECK(setenv("PATH", "/none/1:/none/2:/none/3:/none/4:/none/5:/none/6:/none/7:/none/8", 1) == 0);
    for (int way = 0; way < 4; way++) {
        long begin = now_us();
        for (int folder = 0; folder < FOLDERS; folder++) run_absent(way, folder);
        ADD_FACT("\"ms_%d\": %ld", way, (now_us() - begin) / 1000);
    }
    CHECK(shutdown(p.server, SHUT_WR) == 0);
    size_t got = read_all(&p, &ended);
    ADD_FACT("\"lost\": %ld, \"ended\": %d", (long)(p.put - got), ended);
}

static _Noreturn void forbid(void) {
    struct sock_filter refuse[] = {
        {.code = BPF_LD | BPF_W | BPF_ABS, .k = offsetof(struct seccomp_data, nr)},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 1, .k = SYS_exit_group},
        {.code = BPF_JMP | BPF_JEQ | BPF_K, .jf = 1, .k = SYS_nanosleep},
        {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW},
        {.code = BPF_RET | BPF_K, .k = SECCOMP_RET_ERRNO | EPERM}};
    struct sock_fprog filter = {.len = sizeof refuse / sizeof *refuse, .filter = refuse};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    nap_ms(1500);
    raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    __builtin_unreachable();
}

/* The peer is another process then, made unseen. */
static _Noreturn void while_read_late(const char *how) {
    bool ended;
    pair_t p = stuck();
    long pid = raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        raw_call(SYS_close, p.server, 0, 0, 0, 0);
        nap_ms(MOMENT_MS);
        size_t got = read_all(&p, &ended);
        ADD_FACT("\"lost\": %ld, \"ended\": %d", (long)(p.put - got), ended);
        report();
        fflush(stdout);
        raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    raw_call(SYS_close, p.peer, 0, 0, 0, 0);
    if (strncmp(how, "closed_", 7) == 0) {
        CHECK(close(p.server) == 0);
        how += 7;
    }
    if (strcmp(how, "execv") == 0) execv("/bin/true", (char *[]){(char *)(uintptr_t)"true", NULL});
    if (strcmp(how, "execvp") == 0) execvp("true", (char *[]){(char *)(uintptr_t)"true", NULL});
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "filter") == 0) forbid();
    die(how);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"programs", programs}, {"child", child}, {"raw_child", raw_child},
                {"shutdown", shut_amid_fork}, {"rights", change_rights}, {"idle", idle},
                {"closes", closes}, {"search", search}, {"other_waits", other_waits}};
    CHECK(argc == 2);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(argv[1], ways[i].name) != 0) continue;
        ways[i].run();
        return report();
    }
    while_read_late(argv[1]);
}
