/* SPDX-License-Identifier: MIT */
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool has_colours(FILE *out) {
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (refused && refused[0])
        return false;
    return terminal && strcmp(terminal, "dumb") != 0 && isatty(fileno(out));
}

const char *colour(FILE *out, enum colour c) {
    static const char *const begins[] = {
        [PLAIN] = "\033[0m",  [BOLD] = "\033[1m",    [DIM] = "\033[2m",   [RED] = "\033[31m",
        [GREEN] = "\033[32m", [YELLOW] = "\033[33m", [BLUE] = "\033[34m", [CYAN] = "\033[36m",
    };
    return has_colours(out) ? begins[c] : "";
}

int terminal_width(FILE *out) {
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col;
    return 80;
}

int terminal_height(FILE *out) {
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_row)
        return size.ws_row;
    return 24;
}

unsigned terminal_width_within(FILE *out, unsigned least, unsigned most) {
    unsigned width = (unsigned)terminal_width(out);
    return width > most ? most : width < least ? least : width;
}

bool speaks_utf8(void) {
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}
