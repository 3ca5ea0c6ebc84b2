/* SPDX-License-Identifier: MIT */
#include "prose.h"

#include <stdarg.h>
#include <stdbool.h>
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

/* In UTF-8, a byte that continues a character takes no column. */
static size_t columns_in(const char *text, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

size_t columns_of(const char *text) {
    return columns_in(text, strlen(text));
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

static void put(FILE *out, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        fputc((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], out);
}

void print_safe(FILE *out, const char *text) {
    put(out, text, strlen(text));
}

void print_wrapped(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width) {
    size_t at = column;
    bool empty = true; /* no word in this line yet */
    text += strspn(text, " ");
    while (*text) {
        size_t bytes = strcspn(text, " "), columns = columns_in(text, bytes);
        if (!empty && at + 1 + columns > width) {
            fputc('\n', out);
            at = 0;
            empty = true;
        }
        size_t before = empty ? (at < indent ? indent - at : 0) : 1;
        spaces(out, before);
        put(out, text, bytes);
        at += before + columns;
        empty = false;
        text += bytes;
        text += strspn(text, " ");
    }
    if (at)
        fputc('\n', out);
}

/* $'…' of bash, ksh and zsh: with octal numbers for what is not printable ASCII. */
static void add_escaped(struct prose *p, const char *word) {
    prose_add(p, "$'");
    for (const unsigned char *c = (const unsigned char *)word; *c; c++)
        prose_add(p,
                  *c == '\'' || *c == '\\' ? "\\%c"
                  : *c < ' ' || *c > '~'   ? "\\%03o"
                                           : "%c",
                  *c);
    prose_add(p, "'");
}

void prose_add_word(struct prose *p, const char *word) {
    bool plain = word[0] && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_@%+=:,./-") == strlen(word);
    bool printable = true;
    for (const char *c = word; *c; c++)
        printable &= *c >= ' ' && *c <= '~';
    prose_add(p, " ");
    if (plain) {
        prose_add(p, "%s", word);
        return;
    }
    if (!printable) {
        add_escaped(p, word);
        return;
    }
    prose_add(p, "'");
    for (const char *c = word; *c; c++)
        prose_add(p, *c == '\'' ? "'\\''" : "%c", *c);
    prose_add(p, "'");
}

void prose_print(FILE *out, const struct prose *p, unsigned indent, unsigned width) {
    print_wrapped(out, p->text, 0, indent, width);
}
