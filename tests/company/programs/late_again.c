/* SPDX-License-Identifier: MIT
 *
 * Opens the library (argv[5]) though it is preloaded, asks it for a name, and closes it again, between the
 * header and the body of a message.
 */
#include "client.h"
#include <dlfcn.h>

static const char *path;

static void exchange(int fd) {
    CHECK(write(fd, message, HEADER) == HEADER);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    CHECK(library && dlsym(library, "write") == (void *)write);
    CHECK(dlclose(library) == 0);
    CHECK(write(fd, message + HEADER, BODY) == BODY);
    read_reply(fd);
}

int main(int argc, char **argv) {
    CHECK(argc == 6);
    path = argv[5];
    return client_main(argc, argv, exchange);
}
