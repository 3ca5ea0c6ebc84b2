/* SPDX-License-Identifier: MIT
 *
 * The control block: a tool's values are read back, and other bytes are refused.
 */
#include <sys/mman.h>

#include "control_write.h"
#include "unit.h"

static const struct stats_control plain = {
    .version = CONTROL_VERSION,
    .mode = CONTROL_KEEP,
    .arm_count = 2,
    .arm_mode = {STATS_MODE_OFF, STATS_MODE_AUTO},
    .arm_weight = {1, 1000},
};

static struct stats_file *made(int *fd) {
    *fd = memfd_create("segment", MFD_CLOEXEC);
    ASSERT(*fd >= 0 && ftruncate(*fd, STATS_BYTES) == 0);
    struct stats_file *s = mmap(NULL, STATS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    ASSERT(s != MAP_FAILED);
    memcpy(s->header.magic, STATS_MAGIC, sizeof(s->header.magic));
    s->header.version = STATS_VERSION;
    s->control = plain;
    return s;
}

Test(control, what_is_written_is_read) {
    int fd;
    struct stats_file *s = made(&fd);
    struct stats_control c = plain, back;
    c.mode = STATS_MODE_CORK;
    c.seed = 77;
    EXPECT_INT("first", stats_control_write(fd, &c), 2);
    EXPECT_INT("second", stats_control_write(fd, &c), 4);
    EXPECT_INT("read", stats_control_read(&s->control, &back), 0);
    EXPECT(back.mode == STATS_MODE_CORK && back.seed == 77 && back.sequence == 4);
    EXPECT(back.arm_count == 2 && back.arm_weight[1] == 1000);
}

Test(control, nobody_reads_half_of_it) {
    int fd;
    struct stats_file *s = made(&fd);
    struct stats_control back;
    s->control.sequence = 7;
    EXPECT_INT("odd", stats_control_read(&s->control, &back), -EAGAIN);
    EXPECT_INT("the next writer", stats_control_write(fd, &plain), 8);
    EXPECT_INT("even", stats_control_read(&s->control, &back), 0);
    s->control.sequence = UINT32_MAX;
    EXPECT_INT("round the clock", stats_control_write(fd, &plain), 2);
}

Test(control, no_segment) {
    int fd;
    struct stats_file *s = made(&fd);
    s->header.magic[0] = 'U';
    EXPECT_INT("magic", stats_control_write(fd, &plain), -EINVAL);
    s->header.magic[0] = 'u';
    s->header.version++;
    EXPECT_INT("version", stats_control_write(fd, &plain), -EINVAL);
    s->header.version--;
    EXPECT_INT("good", stats_control_write(fd, &plain), 2);
    ASSERT(munmap(s, STATS_BYTES) == 0 && ftruncate(fd, STATS_BYTES - 1) == 0);
    EXPECT_INT("short", stats_control_write(fd, &plain), -EINVAL);
    EXPECT_INT("none", stats_control_write(-1, &plain), -EBADF);
}

Test(control, wrong) {
    struct stats_control c = plain;
    int fd;
    made(&fd);
    EXPECT(stats_control_wrong(&c) == NULL);
    c.mode = STATS_MODES;
    EXPECT(stats_control_wrong(&c) != NULL);
    EXPECT_INT("not written", stats_control_write(fd, &c), -EINVAL);
}
