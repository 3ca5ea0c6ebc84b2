/* SPDX-License-Identifier: MIT
 *
 * Header and body are written when the process is ending already, by argv[5]:
 *
 *   exit        a handler of atexit
 *   quick_exit  a handler of at_quick_exit
 *   flush       a stream of our own kind that exit flushes, after all handlers and destructors
 */
#include "client.h"

static int fd;

static void write_more(void)
{
    write_message(fd);
}

static ssize_t flushed(void *unused, const char *bytes, size_t length)
{
    (void)unused;
    (void)bytes;
    write_more();
    return (ssize_t)length;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    fd = connect_to(client);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        write_more();
        read_reply(fd);
    }
    next_message(client.count);
    if (strcmp(argv[5], "exit") == 0) {
        CHECK(atexit(write_more) == 0);
    } else if (strcmp(argv[5], "quick_exit") == 0) {
        CHECK(at_quick_exit(write_more) == 0);
        quick_exit(0);
    } else {
        FILE *stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = flushed});
        CHECK(stream && fputc('x', stream) == 'x');
    }
    return 0;
}
