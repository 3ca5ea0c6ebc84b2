/* SPDX-License-Identifier: MIT */
#include "prose.h"

#include <stdarg.h>
#include <string.h>

void prose_add(struct prose *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(p->text + p->used, sizeof(p->text) - p->used, format, arguments);
    va_end(arguments);
    if (n < 0)
        return;
    p->used += (size_t)n;
    if (p->used >= sizeof(p->text))
        p->used = sizeof(p->text) - 1;
}

size_t columns_of(const char *text) {
    size_t n = 0;
    for (const char *c = text; *c; c++)
        n += ((unsigned char)*c & 0xc0) != 0x80; /* UTF-8: what continues a character takes none */
    return n;
}

static void spaces(FILE *out, size_t n) {
    while (n--)
        fputc(' ', out);
}

void print_left(FILE *out, const char *text, size_t width) {
    size_t n = columns_of(text);
    fputs(text, out);
    spaces(out, n < width ? width - n : 0);
}

void print_right(FILE *out, const char *text, size_t width) {
    size_t n = columns_of(text);
    spaces(out, n < width ? width - n : 0);
    fputs(text, out);
}

void prose_print(FILE *out, const struct prose *p, unsigned indent, unsigned width) {
    char word[PROSE_ROOM];
    size_t column = 0;
    const char *at = p->text;
    while (*at) {
        size_t bytes = strcspn(at, " ");
        memcpy(word, at, bytes);
        word[bytes] = '\0';
        size_t columns = columns_of(word);
        if (column && column + 1 + columns > width) {
            fputc('\n', out);
            column = 0;
        }
        if (!column) {
            spaces(out, indent);
            column = indent;
        } else {
            fputc(' ', out);
            column++;
        }
        fputs(word, out);
        column += columns;
        at += bytes;
        at += strspn(at, " ");
    }
    if (column)
        fputc('\n', out);
}
