/* SPDX-License-Identifier: MIT
 *
 * A thread that may be cancelled anywhere reads its first bytes.  It is cancelled inside the setsockopt that
 * the library makes for that read (UNSTALL_QUICKACK=always), with the lock held.  The main thread
 * then makes an exchange.  To be run under strace, which delays that setsockopt.
 */
#include "client.h"

static int connection;
static _Atomic pid_t reader;

static void *read_anywhere(void *unused)
{
    char reply[REPLY];
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    reader = (pid_t)raw_call(SYS_gettid, 0, 0, 0, 0, 0);
    for (;;) recv(connection, reply, sizeof reply, 0);
    return unused;
}

/* Until the thread is stopped at the entry of that system call. */
static void await_call(pid_t task, long number)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", task);
    for (long begin = now_us(); now_us() - begin < 10000000;) {
        int file = (int)raw_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY, 0, 0);
        long n = raw_call(SYS_read, file, (long)line, sizeof line - 1, 0, 0);
        raw_call(SYS_close, file, 0, 0, 0, 0);
        line[n > 0 ? n : 0] = '\0';
        if (n > 0 && line[0] >= '0' && line[0] <= '9' && atol(line) == number) return;
        raw_call(SYS_nanosleep, (long)&moment, 0, 0, 0, 0);
    }
    die("the reader makes no such call");
}

int main(int argc, char **argv)
{
    client_t client = client_arguments(argc, argv);
    pthread_t thread;
    void *result;
    alarm(30); /* a lock that is not given back is waited for without end */
    connection = connect_to(client);
    for (int i = 0; i < client.count; i++) two_writes(connection);
    write_message(connection);
    CHECK(pthread_create(&thread, NULL, read_anywhere, NULL) == 0);
    while (reader == 0) usleep(1000);
    await_call(reader, SYS_setsockopt);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    two_writes(connection);
    return report();
}
