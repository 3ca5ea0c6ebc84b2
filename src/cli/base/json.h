/* SPDX-License-Identifier: MIT
 *
 * JSON on a stream.  The writer sets commas and escapes strings.  In a string that is not valid UTF-8 it
 * replaces the invalid bytes.
 *
 * `key` is NULL for the members of an array and for the outermost value.
 */
#ifndef UNSTALL_CLI_JSON_H
#define UNSTALL_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    int depth;
    bool filled;  /* the present object or array has a member */
    unsigned compact; /* not 0: all on one line; for each part that wants it, one more */
};

struct json json_begin(FILE *out);
void json_end(struct json *j); /* a newline after the outermost value */

/* Begins the object of a report, outermost or in an outermost array: what it is ("report", "scan" …), and
 * when, where and by which command it was made.  A change that a reader could stumble over raises the version
 * of all forms. */
void json_document(struct json *j, const char *form);

void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);

void json_string(struct json *j, const char *key, const char *value); /* NULL: null */
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
void json_signed(struct json *j, const char *key, int64_t value);
void json_unsigned(struct json *j, const char *key, uint64_t value);
void json_unsigned_if(struct json *j, const char *key, uint64_t value, bool known); /* else null */
void json_real(struct json *j, const char *key, double value); /* not finite: null */

/* A part of a distribution, [from ns, to ns, count], on one line; nothing if it is empty. */
void json_bin(struct json *j, double from_ns, double to_ns, uint64_t count);

/* A histogram, {"steps": N, "buckets": [[number, count], ...]}, without its empty buckets.  `counts` is an
 * array of 16, 32 or 64 bits each. */
#define json_histogram(j, key, steps, counts) \
    json_counts(j, key, steps, counts, sizeof(counts) / sizeof((counts)[0]), sizeof((counts)[0]))
void json_counts(struct json *j, const char *key, unsigned steps, const void *counts, size_t n, size_t size);

#endif
