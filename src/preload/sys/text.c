/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <string.h>

#include "raw.h"

bool text_map(struct text *t, size_t bytes) {
    *t = (struct text){.at = raw_map(bytes), .size = bytes};
    return t->at != NULL;
}

void text_unmap(struct text *t) {
    raw_unmap(t->at, t->size);
}

static const char hexadecimal[] = "0123456789abcdef";

void text_add_n(struct text *t, const char *s, size_t n) {
    size_t room = t->size - 1 - t->used;
    if (n > room)
        n = room;
    memcpy(t->at + t->used, s, n);
    t->used += n;
    t->at[t->used] = '\0';
}

void text_add(struct text *t, const char *s) {
    text_add_n(t, s, strlen(s));
}

void text_number(struct text *t, int64_t n) {
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (n < 0)
        digits[--at] = '-';
    text_add_n(t, digits + at, sizeof(digits) - at);
}

/* Length of the UTF-8 sequence at s, or 0 if it is malformed (RFC 3629).  Surrogates and
 * overlong forms pass: JSON readers accept them. */
static size_t utf8(const char *s) {
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] >= 0xc2 && u[0] < 0xe0   ? 2
               : u[0] >= 0xe0 && u[0] < 0xf0 ? 3
               : u[0] >= 0xf0 && u[0] < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void text_json(struct text *t, const char *s) {
    text_add(t, "\"");
    while (*s) {
        unsigned char c = (unsigned char)*s;
        size_t n = c < 0x80 ? 1 : utf8(s);
        if (n == 0 || c < 0x20 || c == 0x7f) {
            char escape[] = {'\\', 'u', '0', '0', hexadecimal[c >> 4], hexadecimal[c & 15]};
            text_add_n(t, escape, sizeof(escape));
            n = 1;
        } else {
            if (c == '"' || c == '\\')
                text_add_n(t, "\\", 1);
            text_add_n(t, s, n);
        }
        s += n;
    }
    text_add(t, "\"");
}

void text_print(struct text *t, const char *form, ...) {
    va_list list;
    va_start(list, form);
    text_print_list(t, form, list);
    va_end(list);
}

void text_print_list(struct text *t, const char *form, va_list list) {
    for (const char *s; *form; form++) {
        if (*form != '%') {
            text_add_n(t, form, 1);
            continue;
        }
        switch (*++form) {
        case 's': text_add(t, va_arg(list, const char *)); break;
        case 'v': s = va_arg(list, const char *), text_add_n(t, s, strnlen(s, 300)); break;
        case 'j': text_json(t, va_arg(list, const char *)); break;
        case 'd': text_number(t, va_arg(list, long)); break;
        case 'x': {
            uint64_t n = va_arg(list, uint64_t);
            for (int shift = 60; shift >= 0; shift -= 4)
                text_add_n(t, &hexadecimal[n >> shift & 15], 1);
        }
        }
    }
}
