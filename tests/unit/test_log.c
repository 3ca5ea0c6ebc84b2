/* SPDX-License-Identifier: MIT
 *
 * Where a line of the library goes, and that the program sees no signal of it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"
#include "unit.h"

static char text[8192];
static int stderr_before, stderr_now;
static volatile sig_atomic_t signals;

static void counts(int number) {
    (void)number;
    signals++;
}

static void set_up(void) {
    stderr_before = dup(STDERR_FILENO);
    stderr_now = memfd_create("stderr", 0);
    ASSERT(dup2(stderr_now, STDERR_FILENO) == STDERR_FILENO);
    signal(SIGPIPE, counts);
    signal(SIGXFSZ, counts);
}

static void tear_down(void) {
    dup2(stderr_before, STDERR_FILENO);
}

TestSuite(log, .init = set_up, .fini = tear_down, .timeout = 20);

static const char *said(void) {
    ssize_t n = pread(stderr_now, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    ASSERT(ftruncate(stderr_now, 0) == 0);
    lseek(stderr_now, 0, SEEK_SET);
    return text;
}

static void line(const char *words) {
    log_line("%s", words);
}

static int to(const char *target, const char *words) {
    TEXT(t, 2048);
    text_add(&t, words);
    return log_to(target, &t);
}

Test(log, a_line) {
    line("one");
    EXPECT_TEXT("to stderr", said(), "unstall: one\n");
    line("a\nb\tc");
    EXPECT_TEXT("without breaks", said(), "unstall: a?b?c\n");
    line("na\xc3\xafve ~");
    EXPECT(strcmp(said(), "unstall: na\xc3\xafve ~\n") == 0);
    line("");
    EXPECT_TEXT("empty", said(), "unstall: \n");
}

Test(log, a_line_as_long_as_there_is_room) {
    char words[1100];
    for (size_t length = 1010; length < 1020; length++) {
        memset(words, 'x', length);
        words[length] = '\0';
        line(words);
        const char *all = said();
        size_t wanted = 9 + length < 1022 ? 9 + length : 1022; /* "unstall: " */
        EXPECT_INT("length", strlen(all), wanted + 1);
        cr_expect(all[wanted] == '\n' && all[wanted - 1] == 'x', "%zu", length);
    }
}

Test(log, a_file_that_cannot_be) {
    errno = 4711;
    log_use("/none/log");
    line("one");
    EXPECT_TEXT("stderr has it", said(), "unstall: one\n");
    EXPECT_INT("refused", to("/none/log", "x"), -ENOENT);
    EXPECT_INT("a folder", to("/tmp", "x"), -EISDIR);
    EXPECT_INT("errno", errno, 4711);
}

/* %p is the number of the process. */
Test(log, names_with_the_number_of_the_process) {
    char folder[] = "/tmp/unit-log-XXXXXX", number[16], twice[40], behind[20], name[64], wanted[64];
    ASSERT(mkdtemp(folder));
    snprintf(number, sizeof(number), "%d", getpid());
    snprintf(twice, sizeof(twice), "%s-%s", number, number);
    snprintf(behind, sizeof(behind), "%%%s", number);
    const char *const names[][2] = {{"%p", number}, {"%p-%p", twice}, {"%d%", "%d%"}, {"%%p", behind}};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(name, sizeof(name), "%s/%s", folder, names[i][0]);
        snprintf(wanted, sizeof(wanted), "%s/%s", folder, names[i][1]);
        EXPECT_INT(names[i][0], to(name, "x"), 0);
        cr_expect(unlink(wanted) == 0, "no %s", wanted);
    }
    EXPECT_INT("and no other file", rmdir(folder), 0);
}

/* ---- signals ------------------------------------------------------------ */

static void stderr_is_a_pipe_to_nobody(void) {
    int ends[2];
    ASSERT(pipe(ends) == 0);
    close(ends[0]);
    ASSERT(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    close(ends[1]);
}

/* One that the program has blocked, and that waits for it, is the program's. */
Test(log, a_signal_that_was_there) {
    sigset_t blocked, set;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGPIPE);
    stderr_is_a_pipe_to_nobody();
    EXPECT_INT("refused", to("stderr", "x"), -EPIPE);
    sigpending(&set);
    EXPECT(sigismember(&set, SIGPIPE));
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    EXPECT(sigismember(&set, SIGPIPE));
    EXPECT_INT("not yet", signals, 0);
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    EXPECT_INT("now", signals, 1);
}
