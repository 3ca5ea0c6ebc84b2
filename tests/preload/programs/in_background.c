/* SPDX-License-Identifier: MIT
 *
 * Runs a program in the background of a terminal with "stty tostop", and prints how it ended or that it was
 * stopped; then what the terminal was told.
 */
#include "client.h"
#include <pty.h>
#include <termios.h>

static _Noreturn void session(char **words) {
    struct termios terminal;
    CHECK(tcgetattr(0, &terminal) == 0);
    terminal.c_lflag |= TOSTOP;
    CHECK(tcsetattr(0, TCSANOW, &terminal) == 0);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        execv(words[0], words);
        _exit(9);
    }
    int status = 0;
    CHECK(waitpid(child, &status, WUNTRACED) == child);
    printf("%s %d\n", WIFSTOPPED(status) ? "stopped" : "ended", WEXITSTATUS(status));
    kill(child, SIGKILL);
    exit(0);
}

int main(int argc, char **argv) {
    int terminal;
    char told[4096];
    CHECK(argc > 1);
    unsetenv("LD_PRELOAD"); /* it is of the program alone, as argv[1] sets it */
    if (forkpty(&terminal, NULL, NULL, NULL) == 0) session(argv + 1);
    for (ssize_t n; (n = read(terminal, told, sizeof told)) > 0;) fwrite(told, 1, (size_t)n, stdout);
    return 0;
}
