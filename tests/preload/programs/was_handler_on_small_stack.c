/* SPDX-License-Identifier: MIT
 *
 * Exchanges; then a handler on an alternate stack of 8192 bytes (SIGSTKSZ) above a page that is not there
 * does argv[5]: ends or replaces the process, tries to, forks, or writes a message in two pieces.
 */
#include "client.h"
#include <sys/mman.h>

enum { STACK = 8192, GUARD = 65536 };

static const char *how;
static int connection;

static void two_pieces(void)
{
    write_message(connection);
}

static void on_usr2(int number)
{
    (void)number;
    if (strcmp(how, "end") == 0) {
        two_pieces();
        _exit(5);
    }
    if (strcmp(how, "exec") == 0) execlp("sh", "sh", "-c", "exit 6", (char *)NULL);
    if (strcmp(how, "failed_exec") == 0) execlp("does-not-exist", "x", (char *)NULL);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "write") == 0) two_pieces();
    if (strcmp(how, "fork") == 0) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 6);
    client_t client = client_arguments(argc, argv);
    how = argv[5];
    char *pages = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages, GUARD, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = pages + GUARD, .ss_size = STACK};
    struct sigaction action = {.sa_handler = on_usr2, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
    connection = connect_to(client);
    for (int i = 0; i < client.count; i++) {
        next_message(i);
        two_pieces();
        read_reply(connection);
    }
    next_message(client.count);
    raise(SIGUSR2);
    puts("returned");
    return 0;
}
