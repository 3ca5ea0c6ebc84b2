/* SPDX-License-Identifier: MIT
 *
 * Opens COUNT connections one after the other to a child of its own, with one exchange each, and closes them:
 * in four ways in turn.  At the end both processes have as much memory and as many descriptors as after the
 * first thousand.
 *
 * Usage: churn COUNT.  Prints the memory of each process after FIRST connections and at the end.
 */
#include "client.h"
#include <dirent.h>

enum { FIRST = 1000 };

static struct {
    long kilobytes, descriptors, threads;
} early, late;

static long entries_of(const char *folder) {
    DIR *entries = opendir(folder);
    CHECK(entries);
    long count = 0;
    while (readdir(entries)) count++;
    closedir(entries);
    return count;
}

/* Anonymous memory alone: pages of the libraries' files come and go. */
static long kilobytes_in_use(void) {
    char line[200];
    long found = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file);
    while (fgets(line, sizeof line, file)) sscanf(line, "RssAnon: %ld", &found);
    fclose(file);
    return found;
}

static void take_stock(long *kilobytes, long *descriptors, long *threads) {
    *kilobytes = kilobytes_in_use();
    *descriptors = entries_of("/proc/self/fd");
    *threads = entries_of("/proc/self/task");
}

static void take_stock_after(int connections, int count) {
    if (connections == FIRST) take_stock(&early.kilobytes, &early.descriptors, &early.threads);
    if (connections == count) take_stock(&late.kilobytes, &late.descriptors, &late.threads);
}

static void print_stock(const char *who, bool comma) {
    printf("\"%s\": {\"kilobytes\": [%ld, %ld], \"descriptors\": [%ld, %ld], "
           "\"threads\": [%ld, %ld]}%s",
           who, early.kilobytes, late.kilobytes, early.descriptors, late.descriptors, early.threads,
           late.threads, comma ? ", " : "}\n");
    fflush(stdout);
}

static void serve(int listener, int count) {
    char request[HEADER + BODY], reply[REPLY];
    memset(reply, 'r', sizeof reply);
    for (int i = 1; i <= count; i++) {
        int fd = accept(listener, NULL, NULL);
        CHECK(fd >= 0);
        CHECK(recv(fd, request, sizeof request, MSG_WAITALL) == sizeof request);
        CHECK(memcmp(request, message, sizeof request) == 0);
        CHECK(write(fd, reply, 50) == 50);
        CHECK(write(fd, reply + 50, sizeof reply - 50) == sizeof reply - 50);
        close(fd);
        take_stock_after(i, count);
    }
}

/* The numbers of the dup, of dup2 and of the connection itself are used again and again. */
static void end(int fd, int way) {
    int copy = way == 1 ? dup(fd) : way == 2 ? dup2(fd, 900) : -1;
    if (way == 3) shutdown(fd, SHUT_WR);
    if (copy >= 0) close(fd);
    close(copy >= 0 ? copy : fd);
}

static int connect_near(struct sockaddr_in peer, int index) {
    /* another address each time: not all ports of one are free again so soon */
    peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (unsigned)index % 100);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0);
    return fd;
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    int count = atoi(argv[1]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 64) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    next_message(0);
    printf("{\"loaded\": %s, ", library_is_loaded() ? "true" : "false");
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        serve(listener, count);
        print_stock("server", true);
        return 0;
    }
    for (int i = 1; i <= count; i++) {
        int fd = connect_near(address, i);
        two_writes(fd);
        end(fd, i % 4);
        take_stock_after(i, count);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    print_stock("client", false);
    return 0;
}
