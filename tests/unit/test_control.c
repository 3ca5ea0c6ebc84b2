/* SPDX-License-Identifier: MIT
 *
 * The control block: what a tool writes is read back, and what is no control
 * block is told apart.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control.h"
#include "unit.h"

static const struct segment_control plain = {
    .version = CONTROL_VERSION,
    .mode = CONTROL_KEEP,
    .arm_count = 2,
    .arm_mode = {SEGMENT_MODE_OFF, SEGMENT_MODE_AUTO},
    .arm_weight = {1, 1000},
};

static struct segment *made(int *fd) {
    *fd = memfd_create("segment", MFD_CLOEXEC);
    ASSERT(*fd >= 0 && ftruncate(*fd, SEGMENT_BYTES) == 0);
    struct segment *s = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    ASSERT(s != MAP_FAILED);
    memcpy(s->header.magic, SEGMENT_MAGIC, sizeof(s->header.magic));
    s->header.version = SEGMENT_VERSION;
    s->control = plain;
    return s;
}

Test(control, what_is_written_is_read) {
    int fd;
    struct segment *s = made(&fd);
    struct segment_control c = plain, back;
    c.mode = SEGMENT_MODE_CORK;
    c.seed = 77;
    EXPECT_INT("first", segment_control_write(fd, &c), 2);
    EXPECT_INT("second", segment_control_write(fd, &c), 4);
    EXPECT_INT("read", segment_control_read(&s->control, &back), 0);
    EXPECT(back.mode == SEGMENT_MODE_CORK && back.seed == 77 && back.sequence == 4);
    EXPECT(back.arm_count == 2 && back.arm_weight[1] == 1000);
}

Test(control, nobody_reads_half_of_it) {
    int fd;
    struct segment *s = made(&fd);
    struct segment_control back;
    s->control.sequence = 7;
    EXPECT_INT("odd", segment_control_read(&s->control, &back), -EAGAIN);
    EXPECT_INT("the next writer", segment_control_write(fd, &plain), 8);
    EXPECT_INT("even", segment_control_read(&s->control, &back), 0);
    s->control.sequence = UINT32_MAX;
    EXPECT_INT("round the clock", segment_control_write(fd, &plain), 2);
}

Test(control, no_segment) {
    int fd;
    struct segment *s = made(&fd);
    s->header.magic[0] = 'U';
    EXPECT_INT("magic", segment_control_write(fd, &plain), -EINVAL);
    s->header.magic[0] = 'u';
    s->header.version++;
    EXPECT_INT("version", segment_control_write(fd, &plain), -EINVAL);
    s->header.version--;
    EXPECT_INT("good", segment_control_write(fd, &plain), 2);
    ASSERT(munmap(s, SEGMENT_BYTES) == 0 && ftruncate(fd, SEGMENT_BYTES - 1) == 0);
    EXPECT_INT("short", segment_control_write(fd, &plain), -EINVAL);
    EXPECT_INT("none", segment_control_write(-1, &plain), -EBADF);
}

static void with(struct segment_control *c, int what) {
    switch (what) {
    case 0: c->version = 0; break;
    case 1: c->mode = SEGMENT_MODES; break;
    case 2: c->window_us = 499; break;
    case 3: c->window_us = 100001; break;
    case 4: c->arm_count = SEGMENT_ARMS + 1; break;
    case 5: c->assignment = 3; break;
    case 6: c->arm_mode[1] = SEGMENT_MODES; break;
    case 7: c->arm_weight[0] = 0; break;
    case 8: c->arm_weight[1] = 1001; break;
    default: break;
    }
}

Test(control, wrong) {
    EXPECT(segment_control_wrong(&plain) == NULL);
    for (int what = 0; what < 9; what++) {
        struct segment_control c = plain;
        int fd;
        made(&fd);
        with(&c, what);
        cr_expect(segment_control_wrong(&c) != NULL, "number %d is wrong", what);
        EXPECT_INT("not written", segment_control_write(fd, &c), -EINVAL);
    }
}
