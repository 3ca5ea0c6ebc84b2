/* SPDX-License-Identifier: MIT */
#include "errors.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "closing.h"

const struct verb *verb_now;

/* Writes one line, without the control characters that a name in it may have: a terminal would obey them. */
__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list arguments) {
    FREED char *text = NULL;
    fflush(stdout); /* earlier output appears first */
    if (vasprintf(&text, format, arguments) < 0)
        return;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    fprintf(stderr, "unstall%s%s: %s\n", verb_now ? " " : "", verb_now ? verb_now->name : "", text);
}

int complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
    return EXIT_OWN;
}

void remark(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

int finish_output(void) {
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE)
        return 0;
    return complain("standard output: %s", strerror(errno));
}
