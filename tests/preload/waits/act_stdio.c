/* SPDX-License-Identifier: MIT
 *
 * stdio: a FILE takes the connection, which then is never held; and a FILE over
 * a pipe that has no room blocks where it must be emptied.
 */
#include "acts.h"

#include <stdarg.h>

extern FILE *other_fdopen(int, const char *) SYMBOL("_IO_fdopen");
extern int other_fclose(FILE *) SYMBOL("_IO_fclose");
extern FILE *plain_freopen(const char *, const char *, FILE *) SYMBOL("freopen");
extern FILE *wide_freopen(const char *, const char *, FILE *) SYMBOL("freopen64");
extern int dprintf_chk(int, int, const char *, ...) SYMBOL("__dprintf_chk");
extern int vdprintf_chk(int, int, const char *, va_list) SYMBOL("__vdprintf_chk");

ACT(fdopen, NULL, 0, fdopen(connection, "r+") != NULL)
ACT(_IO_fdopen, NULL, 0, other_fdopen(connection, "r+") != NULL)

static int drain, full;
static FILE *full_file;

static void no_room(void) {
    int ends[2];
    full_pipe(ends);
    drain = ends[0], full = ends[1];
}

static void make_room(void) {
    static char bytes[1 << 16];
    raw3(SYS_read, drain, bytes, sizeof bytes);
}

/* From glibc 2.37 on dprintf begins a write anew that a signal has interrupted. */
static void no_room_for_a_while(void) {
    no_room();
    child_for_a_while(NULL, make_room);
}

static void no_room_in_file(void) {
    no_room();
    full_file = fdopen(full, "w");
    if (!full_file || fputs("waits for room", full_file) < 0)
        fail("fdopen");
}

ACT(fclose, no_room_in_file, ALARM, fclose(full_file))
ACT(_IO_fclose, no_room_in_file, ALARM, other_fclose(full_file))
ACT(freopen, no_room_in_file, ALARM, plain_freopen("/dev/null", "w", full_file) != NULL)
ACT(freopen64, no_room_in_file, ALARM, wide_freopen("/dev/null", "w", full_file) != NULL)

static int by_list(int (*print)(const char *, va_list), const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = print(format, list);
    va_end(list);
    return result;
}

static int list_plain(const char *format, va_list list) {
    return vdprintf(full, format, list);
}

static int list_checked(const char *format, va_list list) {
    return vdprintf_chk(full, 1, format, list);
}

ACT(dprintf, no_room_for_a_while, 0, dprintf(full, "%s", "waits for room"))
ACT(__dprintf_chk, no_room_for_a_while, 0, dprintf_chk(full, 1, "%s", "waits for room"))
ACT(vdprintf, no_room_for_a_while, 0, by_list(list_plain, "%s", "waits for room"))
ACT(__vdprintf_chk, no_room_for_a_while, 0, by_list(list_checked, "%s", "waits for room"))
