/* SPDX-License-Identifier: MIT
 *
 * The findings in a file: the result of the analysis of a capture or of a log of strace, for the report.
 *
 * Ownership: the caller of findings_make() calls findings_free().
 */
#ifndef UNSTALL_CLI_FINDINGS_H
#define UNSTALL_CLI_FINDINGS_H

#include "stall.h"
#include "verdict.h"

enum { NAME_TEXT = 200, NOTE_TEXT = 400, NOTES = 12, FINDINGS = 512, PLACE_TEXT = 96 };

enum source { SOURCE_CAPTURE, SOURCE_STRACE };

/* One stall as an example, to be looked up in the file. */
struct finding_example {
    char from[ENDPOINT_TEXT], to[ENDPOINT_TEXT];
    /* A capture: the packets of the beginning, the acknowledgement and the rest.  A log: the lines of the
     * first write, the second write and the input. */
    uint64_t number[3];
    int64_t at_ns[3];
    int64_t answer_at_ns; /* a capture: 0 if it was not seen */
    uint32_t bytes[2];
    char place[2][PLACE_TEXT]; /* strace -k: who wrote the pieces, "send_header in app"; "" if not known */
};

/* A program or host that writes messages in pieces, its peer, and the time that this costs. */
struct finding {
    enum stall_verdict verdict; /* STALL_FOUND or STALL_ONE_WAY */
    bool by_server;             /* the writer is the server; else the client */
    bool bound;                 /* the times include the peer's own work */
    uint16_t port;              /* of the service; 0: it is not known, and `service` is a descriptor */
    char writer[NAME_TEXT];     /* "192.0.2.1", "192.0.2.2:80", "python3 client.py" */
    char writer_host[ENDPOINT_TEXT];
    char service[ENDPOINT_TEXT]; /* "192.0.2.2:80" */
    char command[NAME_TEXT];     /* the writer's command line; "" if the file does not contain it */
    char evidence[NOTE_TEXT];    /* strace: why a stall is likely */
    uint64_t connections, messages;
    struct waits waits;
    struct timeline when; /* on the clock of the file, from the first stall on */
    struct finding_example examples[EXAMPLES];
    /* A message of about the first example's size that was not held, over the same connection or another;
     * without pieces where the file has none. */
    uint64_t key; /* of the writer and the service in the capture */
    struct unheld unheld;
    char unheld_from[ENDPOINT_TEXT], unheld_to[ENDPOINT_TEXT];
};

struct findings {
    enum source source;
    uint64_t entries;    /* packets, or lines */
    uint64_t understood; /* of these: TCP segments, or system calls */
    uint64_t connections, evicted; /* one that was evicted counts again where it goes on */
    uint64_t exchanges, firsts; /* messages with an answer; the first ones of their connections */
    uint64_t undecided, undecided_of; /* strace: waits as long as a stall, of which none is claimed; of all */
    uint64_t unwaited; /* strace: late answers that the thread which read them was not seen to wait for */
    char because[NOTE_TEXT];    /* why no verdict can be given where no stall is seen; "": it can */
    int64_t from_ns, until_ns;
    bool of_a_day; /* times are since midnight (strace -tt), without a date */
    char notes[NOTES][NOTE_TEXT];
    int note_count;
    char stopped[NOTE_TEXT]; /* where and why reading ended early; "" otherwise */
    struct finding *rows; /* room for FINDINGS, and one a verdict for all others; sorted by total time */
    uint32_t row_count;
    bool others[STALL_VERDICTS]; /* findings are added up in this verdict's row for all others */
};

bool findings_make(struct findings *f);
void findings_free(struct findings *f);

/* The row with the same verdict, side, writer, command and service; a new one if there is none, and the
 * verdict's row for all others when FINDINGS are in use. */
struct finding *findings_row(struct findings *f, const struct finding *like);

void findings_note(struct findings *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void findings_sort(struct findings *f);

/* True if the file could not be read at all: a file without a packet could. */
bool findings_none(const struct findings *f);

/* The number of stalls in rows of this verdict, and their total time (NULL: not asked). */
uint64_t findings_count(const struct findings *f, enum stall_verdict verdict, int64_t *total_ns);

/* The cure for the stalls of a sender: its place ("on 192.0.2.1, run the client under unstall") and the
 * command.  Both write into `text` and return it. */
const char *findings_cure_where(const struct finding *r, char text[NOTE_TEXT]);
const char *findings_cure(const struct finding *r, char text[NOTE_TEXT]);

/* The other side, "the server" or its address, and the commands that cure there. */
enum { CURES_THERE = 2 };
const char *findings_other_side(const struct finding *r);
const char *findings_cure_there(const struct finding *r, int which);

/* "The first piece is written by send_header in app, the second by send_body in app."; false: not known. */
bool findings_places(const struct finding *r, char *text, size_t size);

/* The verdict on a file, and its one sentence: "199 stalls of 43.6 ms cost 8.7 s: …". */
struct verdict findings_verdict(const struct findings *f);
void findings_sentence(const struct findings *f, char *text, size_t size);

#endif
