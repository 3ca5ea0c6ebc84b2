/* SPDX-License-Identifier: MIT
 *
 * What an analysis of a capture or of a strace log hands to the report.
 *
 * Ownership: whoever makes a `struct findings` frees it with findings_free().
 */
#ifndef UNSTALL_CLI_EXPLAIN_H
#define UNSTALL_CLI_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "explain_flow.h"
#include "explain_stall.h"
#include "json.h"

enum { NAME_TEXT = 200, NOTE_TEXT = 400, NOTES = 12, FINDINGS = 512 };

enum source { SOURCE_CAPTURE, SOURCE_STRACE };

/* Who writes in pieces, to whom, and what it costs. */
struct finding {
    enum verdict verdict;   /* VERDICT_STALLS or VERDICT_ONE_WAY */
    bool by_server;         /* the service writes its answers so; else a client its requests */
    bool bound;             /* the times contain what else the peer did */
    uint16_t port;          /* of the service */
    char writer[NAME_TEXT]; /* "192.0.2.1", "192.0.2.2:80", "python3 client.py" */
    char writer_host[ENDPOINT_TEXT];
    char service[ENDPOINT_TEXT]; /* "192.0.2.2:80" */
    char command[NAME_TEXT];     /* of the writer, where the file tells it; else "" */
    char evidence[NOTE_TEXT];    /* strace: why a stall is likely */
    uint64_t connections, messages;
    struct waits waits;
    struct shown {
        char from[ENDPOINT_TEXT], to[ENDPOINT_TEXT];
        uint64_t number
            [3]; /* packets, or lines: beginning, acknowledgement (second write), rest (input) */
        int64_t at_ns[3];
        uint32_t bytes[2];
        int examples_pid;
    } examples[EXAMPLES];
};

struct findings {
    enum source source;
    uint64_t entries;    /* packets, or lines */
    uint64_t understood; /* of TCP, or system calls */
    uint64_t connections;
    int64_t from_ns, until_ns;
    int64_t day_ns; /* strace -tt: times are of a day, not of a calendar */
    char notes[NOTES][NOTE_TEXT];
    int note_count;
    char stopped[NOTE_TEXT]; /* why and where reading ended early; else "" */
    struct finding *rows;    /* FINDINGS and one for all others, sorted by total time */
    uint32_t row_count;
    uint64_t others; /* findings that had no row any more */
};

bool findings_make(struct findings *f, enum source source);
void findings_free(struct findings *f);

/* The row of a writer: found by everything before `evidence`, or made; the last one is for all others. */
struct finding *findings_row(struct findings *f, const struct finding *like);

void findings_note(struct findings *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void findings_sort(struct findings *f);

/* Stalls and their time in rows of this verdict. */
uint64_t findings_count(const struct findings *f, enum verdict verdict, int64_t *total_ns);

/* The analyses.  Each reads until the end, or until `stopped` says why not.  Returns 0, or -errno
 * where nothing at all could be read (`stopped` says why). */
int explain_capture(FILE *in, struct findings *out);
int explain_strace(FILE *in, struct findings *out);

/* One of them, as the file's first bytes say.  Closes `in`. */
int explain_open(FILE *in, const char *name, struct findings *out);

/* On a terminal's stderr, for what takes more than a second: a step is a packet or a line. */
void progress_begin(FILE *in, const char *name);
void progress_step(uint64_t entries);
void progress_end(void);

void explain_report(FILE *out, const char *name, const struct findings *f);
void explain_json(struct json *j, const char *name, const struct findings *f);

/* Said by both: "199 stalls of 43.6 ms cost 8.7 s: …". */
void explain_sentence(const struct findings *f, char *text, size_t size);

/* "43.5 ms", "8.7 s" */
const char *duration_text(int64_t ns, char text[24]);

#endif
