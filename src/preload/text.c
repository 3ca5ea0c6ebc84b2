/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <string.h>

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

void text_json(struct text *t, const char *s) {
    text_add(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            text_add_n(t, "\\", 1);
            text_add_n(t, s, 1);
        } else if (c < 0x20 || c == 0x7f) {
            static const char hex[] = "0123456789abcdef";
            char escape[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            text_add_n(t, escape, sizeof(escape));
        } else {
            text_add_n(t, s, 1);
        }
    }
    text_add(t, "\"");
}
