/* SPDX-License-Identifier: MIT
 *
 * Usage: no_shared_store PORT WRITES
 *
 * Two threads exchange messages of WRITES small writes over connections of their own.  Once the library knows
 * them, its writable memory is made read-only: the data and bss of libunstall.so, in which everything lies
 * that threads share.  A store there by an exchange ends the program with the address and status 1.  What is
 * left writable is the stack with the thread's own variables, and the connections.  Turns 128 and 256 are
 * outside: there a connection shares with its endpoint what it has learned.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WARM_UP = 130, COUNTED = 120, THREADS = 2, REQUEST = 300, PLACES = 8 };

static int port, writes;
static pthread_barrier_t warm, sealed, done;

static struct {
    char *begin;
    size_t bytes;
} places[PLACES];
static size_t place_count;

static void stored(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    for (size_t i = 0; i < place_count; i++)
        mprotect(places[i].begin, places[i].bytes, PROT_READ | PROT_WRITE);
    char text[64];
    int length = snprintf(text, sizeof(text), "stored at %p\n", info->si_addr);
    (void)!write(STDOUT_FILENO, text, (size_t)length);
    _exit(1);
}

/* The writable maps of the library, and the anonymous one that follows: its bss.  relro is read-only. */
static void find_places(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    uintptr_t library_end = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        uintptr_t begin, end;
        char rights[5];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) != 3)
            continue;
        bool named = strstr(line, "/libunstall.so") != NULL;
        bool bss = begin == library_end && !strchr(line, '/');
        if (named)
            library_end = end;
        if ((named || bss) && rights[1] == 'w' && place_count < PLACES) {
            places[place_count].begin = (char *)begin;
            places[place_count++].bytes = end - begin;
        }
    }
    if (maps)
        fclose(maps);
}

static void exchange(int fd) {
    char bytes[REQUEST] = "";
    for (int i = 0; i < writes; i++)
        if (write(fd, bytes, (size_t)(REQUEST / writes)) != REQUEST / writes)
            exit(2);
    if (read(fd, bytes, sizeof(bytes)) <= 0)
        exit(3);
}

static void *talk(void *unused) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        exit(4);
    for (int i = 0; i < WARM_UP; i++)
        exchange(fd);
    pthread_barrier_wait(&warm);
    pthread_barrier_wait(&sealed);
    for (int i = 0; i < COUNTED; i++)
        exchange(fd);
    pthread_barrier_wait(&done);
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 5;
    port = atoi(argv[1]);
    writes = atoi(argv[2]);
    struct sigaction action = {.sa_sigaction = stored, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    pthread_barrier_init(&warm, NULL, THREADS + 1);
    pthread_barrier_init(&sealed, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, NULL);
    pthread_barrier_wait(&warm);
    find_places();
    size_t bytes = 0;
    for (size_t i = 0; i < place_count; i++)
        bytes += places[i].bytes;
    for (size_t i = 0; i < place_count; i++)
        if (mprotect(places[i].begin, places[i].bytes, PROT_READ) != 0)
            return 6;
    pthread_barrier_wait(&sealed);
    pthread_barrier_wait(&done);
    for (size_t i = 0; i < place_count; i++)
        mprotect(places[i].begin, places[i].bytes, PROT_READ | PROT_WRITE);
    printf("sealed %zu bytes\n", bytes);
    return 0;
}
