/* SPDX-License-Identifier: MIT
 *
 * Ends a writer at random moments and compares what its peer (this program,
 * never preloaded) has received with the results of the writer's calls.
 *
 *     torture-kill WRITER RULE HOW ROUNDS SEED
 *
 * RULE  returned  every byte of a finished write arrives
 *       sent      every byte of a finished write arrives that the kernel has sent; Nagle's algorithm may keep
 *                 others, and a reset drops them (tcp_close() in net/ipv4/tcp.c)
 *       turn      at most the open turn is missing
 * HOW   kill      SIGKILL
 *       pending   SIGKILL while input lies unread: the close resets the connection
 *       exit      the writer's main thread ends the process while another one writes
 *       exec      ... or becomes another program
 *
 * UNSTALL_* and LD_PRELOAD for the writer come in TORTURE_ENV_*.  Runs in an
 * empty folder of its own.  Prints one JSON object; exit code 0: no rule broken.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kill.h"

enum {
    PENDING = 3000,
    LIFE_US = 8000,
    UNREAD_US = 2000,
    LITTLE = 16384,
    PATIENCE_MS = 60000,
    PREFIX = sizeof("TORTURE_ENV_") - 1,
};

static const char *writer, *rule, *how;
static struct page *page;
static int listener, page_fd;
static uint64_t randomness;

static struct {
    unsigned rounds, broken, lossy, resets;
    uint64_t most_lost, bytes;
    char first[200];
} found;

struct round {
    int stream;
    uint64_t received, replied;
    uint64_t unsent; /* bytes in the writer's kernel that no segment has carried when it ends */
    bool ended, reset;
};

static void broken(uint64_t seed, const struct round *r, const char *what) {
    if (found.broken++ == 0)
        snprintf(found.first, sizeof(found.first),
                 "round seed %llu: %s (received %llu, unsent %llu, returned %llu, attempted %llu, turn %llu)",
                 (unsigned long long)seed, what, (unsigned long long)r->received,
                 (unsigned long long)r->unsent, (unsigned long long)page->returned,
                 (unsigned long long)page->attempted, (unsigned long long)page->turn_began);
}

/* ---- the writer ------------------------------------------------------ */

extern char **environ;

static void become_writer(void) {
    char *words[] = {(char *)(uintptr_t)writer, NULL};
    char *environment[64] = {NULL};
    int count = 0;
    for (char **e = environ; *e && count < 62; e++)
        if (strncmp(*e, "TORTURE_ENV_", PREFIX) == 0)
            environment[count++] = *e + PREFIX;
    dup2(page_fd, FD_PAGE);
    execve(writer, words, environment);
    _exit(127);
}

/* ---- the peer -------------------------------------------------------- */

static void serve(struct round *r, uint64_t seed) {
    static char buffer[LARGEST];
    ssize_t n = recv(r->stream, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        r->ended = true;
        r->reset = n < 0;
        return;
    }
    if (memcmp(buffer, stream_at(WRITER_LINK, r->received), (size_t)n) != 0)
        broken(seed, r, "wrong bytes");
    r->received += (uint64_t)n;
    while (!page->pending && r->replied < answer_total(r->received)) {
        uint64_t owed = answer_total(r->received) - r->replied;
        ssize_t sent = send(r->stream, stream_at(1, r->replied), owed < LARGEST ? owed : LARGEST,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0)
            break;
        r->replied += (uint64_t)sent;
    }
}

static void serve_until(struct round *r, uint64_t seed, uint64_t until) {
    while (!r->ended && now_ns() < until) {
        struct pollfd ready = {.fd = r->stream, .events = POLLIN};
        uint64_t left = until - now_ns();
        struct timespec limit = {.tv_sec = (time_t)(left / 1000000000),
                                 .tv_nsec = (long)(left % 1000000000)};
        if ((int64_t)left > 0 && ppoll(&ready, 1, &limit, NULL) > 0)
            serve(r, seed);
    }
}

/* Is the library there, where it should be? */
static void check_preloaded(uint64_t seed, const struct round *r, pid_t pid) {
    char path[32], line[512];
    bool loaded = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof(line), maps))
        loaded = loaded || strstr(line, "libunstall");
    if (maps)
        fclose(maps);
    if (loaded != (getenv("TORTURE_ENV_LD_PRELOAD") != NULL))
        broken(seed, r, loaded ? "the library is loaded" : "the library is not loaded");
}

static void judge(const struct round *r, uint64_t seed) {
    uint64_t returned = __atomic_load_n(&page->returned, __ATOMIC_ACQUIRE);
    found.rounds++;
    found.bytes += r->received;
    found.resets += r->reset;
    if (r->received < returned) {
        found.lossy++;
        if (returned - r->received > found.most_lost)
            found.most_lost = returned - r->received;
    }
    if (!r->ended)
        broken(seed, r, "the stream does not end");
    if (r->received > page->attempted)
        broken(seed, r, "more than was written");
    if (strcmp(rule, "returned") == 0 && r->received < returned)
        broken(seed, r, "bytes lost");
    if (strcmp(rule, "sent") == 0 && r->received + r->unsent < returned)
        broken(seed, r, "bytes lost that had been sent");
    if (r->received + r->unsent < page->turn_began)
        broken(seed, r, "more than the open turn lost");
    if (r->reset && !page->pending)
        broken(seed, r, "a reset");
}

/* A busy machine keeps the peer from reading until its window is closed.  A reset then drops what the
 * writer's kernel could not send yet, in any mode.  So the peer catches up before. */
static void catch_up(struct round *r, uint64_t seed) {
    int unread = 0;
    while (!r->ended && ioctl(r->stream, FIONREAD, &unread) == 0 && unread > LITTLE)
        serve(r, seed);
}

/*
 * Under the rule `sent` the peer first reads nothing for a moment, so that Nagle's algorithm keeps
 * the writer's next pieces.  Then the writer is stopped, and its kernel is asked what is unsent.
 */
static void end_by_signal(struct round *r, uint64_t seed, pid_t pid) {
    if (strcmp(rule, "sent") == 0) {
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), unsent, status;
        usleep(random_below(&randomness, UNREAD_US));
        kill(pid, SIGSTOP);
        waitpid(pid, &status, WUNTRACED);
        int stream = (int)syscall(SYS_pidfd_getfd, pidfd, page->stream, 0);
        if (stream < 0 || ioctl(stream, SIOCOUTQNSD, &unsent) != 0) {
            perror("torture-kill: the writer's unsent bytes (pidfd_getfd, SIOCOUTQNSD)");
            abort();
        }
        r->unsent = (uint64_t)unsent;
        close(stream);
        close(pidfd);
    } else if (page->pending) {
        catch_up(r, seed);
    }
    kill(pid, SIGKILL);
}

/* ---- one round ------------------------------------------------------- */

static void play(uint64_t seed) {
    struct round r = {0};
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    memset(page, 0, sizeof(*page));
    page->seed = seed;
    page->pending = strcmp(how, "pending") == 0;
    page->execs = strcmp(how, "exec") == 0;
    page->threads = page->execs || strcmp(how, "exit") == 0;
    getsockname(listener, (struct sockaddr *)&address, &length);
    page->port = ntohs(address.sin_port);
    streams_init(seed);
    pid_t pid = fork();
    if (pid == 0)
        become_writer();
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    if (poll(&ready, 1, PATIENCE_MS) < 1) {
        broken(seed, &r, "the writer does not come");
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return;
    }
    r.stream = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (page->pending && send(r.stream, stream_at(1, 0), PENDING, 0) != PENDING)
        broken(seed, &r, "send");
    for (int ms = 0; ms < PATIENCE_MS && !r.ended && !__atomic_load_n(&page->ready, __ATOMIC_ACQUIRE); ms++)
        serve_until(&r, seed, now_ns() + 1000000);
    if (found.rounds == 0)
        check_preloaded(seed, &r, pid);
    serve_until(&r, seed, now_ns() + random_below(&randomness, LIFE_US) * UINT64_C(1000));
    if (page->threads)
        __atomic_store_n(&page->stop, 1, __ATOMIC_RELEASE);
    else
        end_by_signal(&r, seed, pid);
    serve_until(&r, seed, now_ns() + PATIENCE_MS * UINT64_C(1000000));
    int status = 0;
    if (page->threads && !r.ended)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    if (page->threads ? status != 0 : !WIFSIGNALED(status))
        broken(seed, &r, "the writer ended by itself");
    judge(&r, seed);
    close(r.stream);
}

int main(int count, char **words) {
    if (count != 6) {
        fprintf(stderr, "usage: torture-kill WRITER RULE HOW ROUNDS SEED\n");
        return 2;
    }
    writer = words[1];
    rule = words[2];
    how = words[3];
    randomness = strtoull(words[5], NULL, 10);
    page_fd = memfd_create("page", MFD_CLOEXEC);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ftruncate(page_fd, sizeof(*page)) != 0 || listen(listener, 16) != 0)
        return 2;
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
    for (unsigned long rounds = strtoul(words[4], NULL, 10); rounds > 0; rounds--)
        play(random_next(&randomness));
    printf("{\"rounds\": %u, \"broken\": %u, \"lossy\": %u, \"most_lost\": %llu, \"resets\": %u, "
           "\"bytes\": %llu, \"first\": \"%s\"}\n",
           found.rounds, found.broken, found.lossy, (unsigned long long)found.most_lost,
           found.resets, (unsigned long long)found.bytes, found.first);
    return found.broken ? 1 : 0;
}
