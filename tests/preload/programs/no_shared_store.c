/* SPDX-License-Identifier: MIT
 *
 * Usage: no_shared_store PORT WRITES
 *
 * Two threads exchange messages of WRITES small writes over connections of their own.  Once the library knows
 * them, its writable memory is made read-only: the data and bss of libunstall.so, which have all that threads
 * share.  A store there by an exchange ends the program with the address and status 1.  Only the stack with
 * the thread's own variables, and the connections stay writable.  Turns 128 and 256 are outside: there a
 * connection updates the entry of its endpoint.
 */
#include <arpa/inet.h>
#include <link.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
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

/* The writable segments of the library, its bss included; memory that the linker has made
 * read-only is left out. */
static int find_places(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t sealed_end = 0;
    if (!strstr(info->dlpi_name, "/libunstall.so"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            sealed_end = (info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz) & ~(page - 1);
    for (int i = 0; i < info->dlpi_phnum && place_count < PLACES; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
            continue;
        uintptr_t begin = segment->p_vaddr & ~(page - 1);
        uintptr_t end = (segment->p_vaddr + segment->p_memsz + page - 1) & ~(page - 1);
        if (begin < sealed_end)
            begin = sealed_end;
        places[place_count].begin = (char *)(info->dlpi_addr + begin);
        places[place_count++].bytes = end - begin;
    }
    return 1;
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
    dl_iterate_phdr(find_places, NULL);
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
