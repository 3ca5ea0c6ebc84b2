/* SPDX-License-Identifier: MIT
 *
 * Exchanges, then exec with the connection open: the new program finds the application's values.
 * argv[6] names the member of the exec family.
 */
#include "pass_on.h"

int main(int argc, char **argv) {
    tell_if_second(argc, argv);
    int fd = connect_to(client_arguments(argc, argv));
    CHECK(fd == 3);
    set_own_value(argc, argv, fd);
    exchange_all(fd, 0, 5);
    /* An unfinished message: held bytes must be on their way before the image changes. */
    next_message(5);
    write_message(fd);
    char *const words[] = {argv[0], "tell", NULL}, *const none[] = {NULL};
    const char *how = argc > 6 ? argv[6] : "execve";
    if (strcmp(how, "execve") == 0) execve(argv[0], words, none);
    if (strcmp(how, "execv") == 0) execv(argv[0], words);
    if (strcmp(how, "execvp") == 0) execvp(argv[0], words);
    if (strcmp(how, "execvpe") == 0) execvpe(argv[0], words, none);
    if (strcmp(how, "execl") == 0) execl(argv[0], argv[0], "tell", NULL);
    if (strcmp(how, "execle") == 0) execle(argv[0], argv[0], "tell", NULL, none);
    if (strcmp(how, "execlp") == 0) execlp(argv[0], argv[0], "tell", NULL);
    if (strcmp(how, "fexecve") == 0) fexecve(open(argv[0], O_RDONLY), words, none);
    if (strcmp(how, "execveat") == 0) execveat(AT_FDCWD, argv[0], words, none, 0);
    die("exec");
}
