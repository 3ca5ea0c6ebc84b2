/* SPDX-License-Identifier: MIT
 *
 * The making of the statistics file: where it is refused, with which warning, and that
 * nothing is left behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "filter.h"
#include "log.h"
#include "statistics.h"
#include "stats_file.h"

static char folder[64], log_path[96];

static void set_up(void) {
    strcpy(folder, "/dev/shm/unit-XXXXXX");
    snprintf(log_path, sizeof(log_path), "/dev/shm/unit-log-%d", getpid());
    cr_assert(mkdtemp(folder), "no folder in /dev/shm");
    static char setting[128];
    snprintf(setting, sizeof(setting), "UNSTALL_LOG=%s", log_path);
    whole_start((const char *const[]){setting, NULL});
}

static int entries(bool away) {
    int count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *e; open && (e = readdir(open)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        count++;
        if (away)
            unlinkat(dirfd(open), e->d_name, 0);
    }
    if (open)
        closedir(open);
    return count;
}

static void tear_down(void) {
    entries(true);
    rmdir(folder);
    unlink(log_path);
}

TestSuite(stats_file, .init = set_up, .fini = tear_down, .timeout = 20);

static const char *warned(void) {
    static char text[4096];
    unit_read(log_path, text, sizeof(text));
    return text;
}

static int descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 200; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* One warning with these words, nothing made, no descriptor left. */
static void expect_refused(const char *path, const char *words) {
    int before = descriptors();
    EXPECT(!stats_file(path, 1));
    EXPECT_INT(words, descriptors(), before);
    EXPECT_INT(words, entries(false), 0);
    const char *text = warned(), *line = strchr(text, '\n');
    cr_expect(strstr(text, words) && strstr(text, "; no statistics\n") && line && !line[1], "%s, not %s",
              unit_plain(text), words);
}

Test(stats_file, is_made_for_its_user_alone) {
    struct stat st;
    char path[128];
    int before = descriptors();
    umask(0777);
    struct stats_file *s = stats_file(folder, 0xabc);
    ASSERT(s);
    EXPECT_INT("descriptors", descriptors(), before);
    snprintf(path, sizeof(path), "%s/%d-0000000000000abc" STATS_SUFFIX, folder, getpid());
    ASSERT(stat(path, &st) == 0);
    EXPECT_INT("mode", st.st_mode & 07777, 0600);
    EXPECT_INT("size", st.st_size, STATS_BYTES);
    cr_expect(st.st_blocks * 512 < STATS_BYTES / 4, "only its beginning takes memory");
    EXPECT_TEXT("without a word", warned(), "");
    EXPECT(stats_file_reserve(&s->connection[0], sizeof(s->connection[0])));
    s->connection[0].writes = 1;
    s->header.bytes = s->control.seed = s->module[STATS_MODULES - 1].end = s->pattern[7].count = 1;
}

Test(stats_file, slashes_at_the_end) {
    char path[80];
    snprintf(path, sizeof(path), "%s///", folder);
    EXPECT(stats_file(path, 1));
    EXPECT_TEXT("without a word", warned(), "");
}

Test(stats_file, twice_the_same) {
    EXPECT(stats_file(folder, 1));
    EXPECT(!stats_file(folder, 1));
    EXPECT(strstr(warned(), "no file can be made there"));
    EXPECT_INT("the first one stays", entries(false), 1);
}

Test(stats_file, no_such_directory) {
    expect_refused("/dev/shm/unit-none/there", "there is no such directory");
}

Test(stats_file, a_file) {
    expect_refused("/dev/null", "expected a directory, and no symbolic link to one");
}

Test(stats_file, a_link) {
    char path[80];
    snprintf(path, sizeof(path), "%s-link/", folder);
    ASSERT(symlink(folder, strcpy((char[80]){""}, path)) != 0 || true);
    path[strlen(path) - 1] = '\0';
    ASSERT(symlink(folder, path) == 0);
    strcat(path, "/");
    expect_refused(path, "expected a directory, and no symbolic link to one");
    path[strlen(path) - 1] = '\0';
    unlink(path);
}

Test(stats_file, one_that_others_may_write_to) {
    ASSERT(chmod(folder, 0770) == 0);
    expect_refused(folder, "writable by no other user");
}

Test(stats_file, one_of_another_user) {
    if (geteuid() != 0)
        cr_skip_test("only root can give a directory away");
    ASSERT(chown(folder, 12345, 12345) == 0);
    expect_refused(folder, "expected a directory of the process's own user");
}

Test(stats_file, no_tmpfs) {
    char path[] = "/proc/self";
    EXPECT(!stats_file(path, 1));
    EXPECT(strstr(warned(), "expected a directory"));
}

Test(stats_file, a_long_path) {
    char path[1200];
    memset(path, 'a', sizeof(path) - 1);
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    expect_refused(path, "expected a shorter path");
}

/* Beyond the limit ftruncate(2) raises SIGXFSZ. */
Test(stats_file, a_limit_on_files) {
    struct rlimit limit = {STATS_BYTES - 1, STATS_BYTES - 1};
    ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    EXPECT(!stats_file(folder, 1));
    EXPECT_INT("nothing is left", entries(false), 0);
    EXPECT(strstr(warned(), "no statistics file (4 MiB) can be made there"));
}

Test(stats_file, a_limit_that_is_just_enough) {
    struct rlimit limit = {STATS_BYTES, STATS_BYTES};
    ASSERT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    EXPECT(stats_file(folder, 1));
}

static void fails(uint32_t call, unsigned which, uint32_t value, uint32_t error) {
    if (!filter_fails(call, which, value, error))
        cr_skip_test("no filters here");
}

/* Before Linux 5.14. */
Test(stats_file, a_kernel_that_cannot_populate) {
    struct stat st;
    char path[128];
    fails(SYS_madvise, 2, 23 /* MADV_POPULATE_WRITE */, EINVAL);
    struct stats_file *s = stats_file(folder, 1);
    ASSERT(s);
    snprintf(path, sizeof(path), "%s/%d-%016d" STATS_SUFFIX, folder, getpid(), 1);
    ASSERT(stat(path, &st) == 0);
    cr_expect(st.st_blocks * 512 >= STATS_BYTES, "all of it is reserved");
    EXPECT(stats_file_reserve(&s->connection[1000], sizeof(s->connection[0])));
    EXPECT_TEXT("without a word", warned(), "");
}

Test(stats_file, no_room) {
    fails(SYS_madvise, 2, 23, EFAULT);
    fails(SYS_fallocate, 1, 0, ENOSPC);
    expect_refused(folder, "the file system has no room for a statistics file");
}

Test(stats_file, two_refusals_are_one_line) {
    EXPECT(!stats_file("/dev/shm/unit-none", 1));
    expect_refused("/dev/null", "there is no such directory");
}

Test(stats_file, the_process_goes_on_without) {
    static char setting[128];
    snprintf(setting, sizeof(setting), "UNSTALL_STATS=%s/none", folder);
    whole_start((const char *const[]){"UNSTALL_MODE=nodelay", setting, NULL});
    whole_connected(5);
    EXPECT_INT("written", whole_write(5, "head"), 4);
    EXPECT(!stats_file_mapped && !stats_ever_made());
    EXPECT_INT("state", stats_state, LIFE_REFUSED);
    stats_file_forked();
    EXPECT_INT("nor does a child try again", stats_state, LIFE_REFUSED);
}
