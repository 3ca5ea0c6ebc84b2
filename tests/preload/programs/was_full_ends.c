/* SPDX-License-Identifier: MIT
 *
 * An exchange; the send buffer is filled with writes that are not small; answers come, though the
 * peer does not read; small writes until no more go; and then at once argv[5]:
 *
 *   fork      a child writes the next bytes
 *   exec      another program, which does nothing
 *   spawn     another program beside us
 *   shutdown  of the writing side
 *   close     with no other descriptor to be had
 *   exit      (nothing: the program ends)
 *
 * Prints before how many bytes there are to arrive.
 */
#include "client.h"
#include <spawn.h>
#include <sys/resource.h>

enum { BIG = 5000, SMALL = 30, LIMIT = 100 };

static char data[800 * BIG];
extern char **environ;

static size_t fill_up(int fd, size_t at, size_t piece)
{
    CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    for (ssize_t n; (n = write(fd, data + at, piece)) > 0; at += (size_t)n) CHECK(at < sizeof data - 2 * BIG);
    CHECK(errno == EAGAIN);
    CHECK(fcntl(fd, F_SETFL, 0) == 0);
    return at;
}

static void spare_no_descriptor(int connection)
{
    struct rlimit limit = {LIMIT, LIMIT};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (dup(connection + 1) >= 0) {}
}

static void act(int fd, const char *how)
{
    char *const words[] = {"/bin/true", NULL};
    pid_t child;
    if (strcmp(how, "fork") == 0) {
        if ((child = fork()) == 0) {
            CHECK(write(fd, data, SMALL) == SMALL);
            _exit(0);
        }
        CHECK(status_of(child) == 0);
    }
    if (strcmp(how, "exec") == 0) execv(words[0], words);
    if (strcmp(how, "spawn") == 0) {
        CHECK(posix_spawn(&child, words[0], NULL, NULL, words, environ) == 0);
        CHECK(status_of(child) == 0);
    }
    if (strcmp(how, "shutdown") == 0) CHECK(shutdown(fd, SHUT_WR) == 0);
    if (strcmp(how, "close") == 0) CHECK(close(fd) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), small = 4096;
    bool forks = strcmp(argv[5], "fork") == 0;
    fill(data, sizeof data, 0);
    CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    CHECK(write(fd, data, HEADER) == HEADER);
    CHECK(write(fd, data + HEADER, BODY) == BODY);
    read_reply(fd);
    size_t at = fill_up(fd, HEADER + BODY, BIG);
    read_reply(fd);
    at = fill_up(fd, at, BIG); /* the kernel has made some room meanwhile */
    bool loaded = library_is_loaded();
    CHECK(dup(1) == fd + 1);
    if (strcmp(argv[5], "close") == 0) spare_no_descriptor(fd);
    read_reply(fd);
    at = fill_up(fd, at, SMALL);
    dprintf(1, "%zu %s\n", at, loaded ? "loaded" : "bare");
    if (forks) fill(data, SMALL, at);
    act(fd, argv[5]);
    return 0;
}
