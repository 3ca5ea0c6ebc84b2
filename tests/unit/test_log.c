/* SPDX-License-Identifier: MIT
 *
 * A line of the log that is longer than its room: no value of a user's can make one.
 */
#include <sys/mman.h>

#include "log.h"
#include "unit.h"

Test(log, a_line_as_long_as_there_is_room) {
    int file = memfd_create("log", 0);
    char words[1100], name[32], all[2000];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
    log_use(name);
    for (size_t length = 1010; length < 1020; length++) {
        memset(words, 'x', length);
        words[length] = '\0';
        ASSERT(ftruncate(file, 0) == 0);
        log_line("%s", words);
        size_t wanted = 9 + length < 1022 ? 9 + length : 1022; /* "unstall: " */
        EXPECT_INT("length", pread(file, all, sizeof(all), 0), wanted + 1);
        cr_expect(all[wanted] == '\n' && all[wanted - 1] == 'x', "%zu", length);
    }
}
