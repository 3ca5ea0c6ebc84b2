/* SPDX-License-Identifier: MIT
 *
 * Loads the library itself (argv[5]) while a connection is in use, writes through its names as well, has
 * bytes held by them, and lets go of the library.
 */
#include "client.h"
#include <dlfcn.h>

static ssize_t (*put)(int, const void *, size_t) = write;

static void exchange(int fd) {
    CHECK(put(fd, message, HEADER) == HEADER);
    CHECK(put(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

static void exchanges(int fd, int from, int to) {
    for (int i = from; i < to; i++) {
        next_message(i);
        exchange(fd);
    }
}

static void *write_once(void *fd) {
    CHECK(put(*(int *)fd, message, HEADER) == HEADER);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    int fd = connect_to(client), index = 0;
    exchanges(fd, index, 4);
    void *library = dlopen(argv[5], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 98;
    }
    exchanges(fd, 4, 6);
    *(void **)&put = dlsym(library, "write");
    CHECK(put && (void *)put != (void *)write);
    exchanges(fd, 6, client.count - 2);
    /* a thread that ends holding, after the library is let go */
    next_message(client.count - 2);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, write_once, &fd) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(put(fd, message + HEADER, BODY) == BODY);
    CHECK(dlclose(library) == 0);
    usleep(20000);
    read_reply(fd);
    put = write;
    exchanges(fd, client.count - 1, client.count);
    close(fd);
    return 0;
}
