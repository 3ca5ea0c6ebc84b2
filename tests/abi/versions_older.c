/* SPDX-License-Identifier: MIT
 *
 * Calls, in libc's older definitions and in those of now, what differs between them.  argv[1] is
 * a script without "#!".
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLDER(name, version)               \
    extern __typeof__(name) older_##name; \
    __asm__(".symver older_" #name ", " #name "@" version);

#ifdef __i386__ /* the first version of the libc, and of posix_spawn */
#define FIRST  "GLIBC_2.0"
#define SPAWNS "GLIBC_2.2"
#else
#define FIRST  "GLIBC_2.2.5"
#define SPAWNS "GLIBC_2.2.5"
#endif
OLDER(posix_spawn, SPAWNS)
OLDER(posix_spawnp, SPAWNS)
OLDER(quick_exit, "GLIBC_2.10")
OLDER(pthread_kill, FIRST)
OLDER(pthread_cond_wait, FIRST)
OLDER(pthread_cond_timedwait, FIRST)
OLDER(pthread_cond_signal, FIRST)

extern char **environ;
extern int __cxa_thread_atexit_impl(void (*destructor)(void *), void *object, void *library);
extern void *__dso_handle;

static void spawns(const char *what, __typeof__(posix_spawn) *call, char *script) {
    char *const words[] = {script, NULL};
    pid_t child;
    int status, result = call(&child, script, NULL, NULL, words, environ);
    if (result != 0) {
        printf("%s: %s\n", what, strerrorname_np(result));
        return;
    }
    waitpid(child, &status, 0);
    printf("%s: 0, then %d\n", what, WEXITSTATUS(status));
}

static void destructor(void *object) {
    static const char text[] = "ran the thread's destructor, ";
    if (write(1, text, sizeof text - 1) != sizeof text - 1)
        *(int *)object = 1;
}

static void exits(const char *what, void (*call)(int)) {
    static int object;
    int status;
    printf("%s: ", what);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        __cxa_thread_atexit_impl(destructor, &object, &__dso_handle);
        call(5);
    }
    waitpid(child, &status, 0);
    printf("ended with %d\n", WEXITSTATUS(status));
}

static void *says_its_number(void *number) {
    *(_Atomic pid_t *)number = gettid();
    return NULL;
}

/* To a thread that has ended and is not joined yet. */
static void kills(const char *what, __typeof__(pthread_kill) *call) {
    pthread_t thread;
    _Atomic pid_t number = 0;
    pthread_create(&thread, NULL, says_its_number, (void *)&number);
    while (number == 0 || tgkill(getpid(), number, 0) == 0)
        usleep(1000);
    int result = call(thread, 0);
    printf("%s: %s\n", what, result ? strerrorname_np(result) : "0");
    pthread_join(thread, NULL);
}

/* A condition of before 2.3.2 is one pointer; what lies behind it is somebody else's. */
static struct {
    void *condition, *behind[5];
} old;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *signals(void *unused) {
    pthread_mutex_lock(&mutex);
    older_pthread_cond_signal((pthread_cond_t *)&old);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void waits(void) {
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    pthread_create(&thread, NULL, signals, NULL);
    int result = older_pthread_cond_wait((pthread_cond_t *)&old, &mutex);
    printf("pthread_cond_wait: %s\n", result ? strerrorname_np(result) : "0");
    pthread_join(thread, NULL);
    result = older_pthread_cond_timedwait((pthread_cond_t *)&old, &mutex, &(struct timespec){1, 0});
    printf("pthread_cond_timedwait: %s\n", result ? strerrorname_np(result) : "0");
    bool touched = false;
    for (int i = 0; i < 5; i++)
        touched |= old.behind[i] != NULL;
    printf("behind the condition: %s\n", touched ? "written" : "untouched");
}

int main(int argc, char **argv) {
    (void)argc;
    spawns("posix_spawn", older_posix_spawn, argv[1]);
    spawns("posix_spawn now", posix_spawn, argv[1]);
    spawns("posix_spawnp", older_posix_spawnp, argv[1]);
    spawns("posix_spawnp now", posix_spawnp, argv[1]);
    exits("quick_exit", older_quick_exit);
    exits("quick_exit now", quick_exit);
    kills("pthread_kill", older_pthread_kill);
    kills("pthread_kill now", pthread_kill);
    waits();
    return 0;
}
