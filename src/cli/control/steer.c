/* SPDX-License-Identifier: MIT */
#include "steer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "closing.h"
#include "control_write.h"
#include "errors.h"
#include "stats_names.h"

enum { LOOK_EVERY_MS = 10 };

#define WRONG(error, ...) snprintf((error)->text, sizeof((error)->text), __VA_ARGS__)

int steer_mode(const char *word) {
    for (int i = 0; i < STATS_MODES; i++)
        if (strcmp(word, mode_name((unsigned)i)) == 0)
            return i;
    return strcmp(word, "started") == 0 ? STEER_AS_STARTED : STEER_AS_IS;
}

/* Opens the file that was read before; fails if its name belongs to another file now. */
static int open_again(const struct reader_file *s, int flags, struct reader_error *error) {
    struct stat st;
    int fd = open(s->path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        WRONG(error, "%.400s: %s%s", s->path, strerror(errno), reader_refused(errno, ITS_USER_OR_ROOT));
        return -1;
    }
    if (fstat(fd, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode)
        return fd;
    close(fd);
    WRONG(error, "%.400s: has been replaced by another file; try again", s->path);
    return -1;
}

static bool read_header(int fd, struct stats_header *header) {
    return pread(fd, header, sizeof(*header), offsetof(struct stats_file, header)) ==
           (ssize_t)sizeof(*header);
}

static void set_arms(struct stats_control *c, const struct arms *arms) {
    c->arm_count = arms->count;
    c->assignment = arms->assignment;
    c->seed = arms->seed;
    for (uint32_t i = 0; i < arms->count; i++) {
        c->arm_mode[i] = arms->mode[i];
        c->arm_weight[i] = arms->weight[i];
    }
}

int64_t steer(const struct reader_file *s, const struct steer *change, unsigned *arms,
              struct reader_error *error) {
    struct stats_control c = s->control;
    unsigned ended = 0;
    if (change->mode != STEER_AS_IS) {
        ended = c.arm_count;
        c.mode = (uint32_t)change->mode;
        c.arm_count = 0;
    }
    if (change->window_us != STEER_AS_IS)
        c.window_us = (uint32_t)change->window_us;
    if (change->killed != STEER_AS_IS)
        c.killed = change->killed != 0;
    if (change->arms)
        set_arms(&c, change->arms);
    c.version = CONTROL_VERSION;
    CLOSED_FD fd = open_again(s, O_RDWR, error);
    if (fd < 0)
        return -1;
    int64_t sequence = stats_control_write(fd, &c);
    if (sequence == -EWOULDBLOCK)
        WRONG(error, "%.400s: another tool has locked its control block; try again", s->path);
    else if (sequence < 0)
        WRONG(error, "%.400s: the control block cannot be written: %s", s->path,
              strerror((int)-sequence));
    if (arms)
        *arms = ended;
    return sequence < 0 ? -1 : sequence;
}

enum steer_outcome steer_wait(const struct reader_file *s, int64_t sequence, int ms,
                              struct stats_header *header) {
    struct reader_error ignored;
    enum steer_outcome outcome = STEER_WAITS;
    *header = s->header;
    CLOSED_FD fd = open_again(s, O_RDONLY, &ignored);
    for (int waited = 0; fd >= 0 && outcome == STEER_WAITS; waited += LOOK_EVERY_MS) {
        if (!read_header(fd, header))
            break;
        if (header->control_seen == (uint32_t)sequence)
            outcome = STEER_TAKEN;
        else if (header->ended_monotonic_ns)
            outcome = STEER_ENDED;
        else if (waited >= ms)
            break;
        else
            nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_MS * 1000000L}, NULL);
    }
    return outcome;
}

bool arms_option(struct args *a, struct arms_words *w) {
    static const char *const ways[] = {"connection", "peer", "listener"};
    const char *value;
    long n = 0;
    if (args_value(a, "--arms", &value)) {
        if (strcmp(value, "none") != 0 && !arms_parse(&w->arms, value))
            exit(complain("--arms %s: expected modes with weights, as in off:50,auto:50, or none",
                          value));
        return w->given = true;
    }
    if (args_value(a, "--assign", &value)) {
        while (n < 3 && strcmp(value, ways[n]) != 0)
            n++;
        if (n == 3)
            exit(complain("--assign %s: expected connection, peer or listener", value));
        w->arms.assignment = (uint32_t)n;
        return true;
    }
    if (!args_value(a, "--seed", &value))
        return false;
    if (!number_of("--seed", value, 0, 999999999, &n))
        exit(EXIT_OWN);
    w->arms.seed = (uint64_t)n;
    return w->seeded = true;
}
