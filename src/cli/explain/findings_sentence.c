/* SPDX-License-Identifier: MIT */
#include "findings.h"

#include <stdio.h>
#include <string.h>

static unsigned long lu(uint64_t n) {
    return (unsigned long)n;
}

static void stalls_sentence(const struct findings *f, char *text, size_t size) {
    int64_t total;
    uint64_t n = findings_count(f, STALL_FOUND, &total);
    const struct finding *worst = &f->rows[0];
    char each[24], sum[24];
    duration_text(waits_quantile(&worst->waits, 0.5), each);
    duration_text(total, sum);
    bool named = strcmp(worst->writer, worst->service) == 0; /* a server in a capture */
    const char *likely = f->source == SOURCE_STRACE ? "Likely " : "";
    int used = n == 1 ? snprintf(text, size, "%s1 stall of %s", likely, sum)
                      : snprintf(text, size, "%s%lu stalls of %s%s cost %s", likely, lu(n),
                                 f->row_count > 1 ? "mostly " : "", each, sum);
    if (used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ": %s writes its %s%s%s in pieces%s.",
                 worst->writer, worst->by_server ? "answers" : "requests",
                 named              ? ""
                 : worst->by_server ? " on "
                                    : " to ",
                 named ? "" : worst->service, f->row_count > 1 ? ", and others do the same" : "");
}

static void nothing_sentence(const struct findings *f, char *text, size_t size) {
    bool capture = f->source == SOURCE_CAPTURE;
    if (f->entries == 0)
        snprintf(text, size,
                 "Nothing to judge: there is no packet in this capture. Was it made on the right interface "
                 "(tcpdump -i any), for the right port, and while the programs talked?");
    else if (capture ? f->understood == 0 : f->connections == 0)
        snprintf(text, size, "Nothing to judge: %s.",
                 capture ? "there is no TCP in this capture" : "no call on a TCP connection");
    else
        snprintf(text, size, "No stall: %s.",
                 capture
                     ? "no small segment waited for a delayed acknowledgement"
                     : "no wait of a delayed acknowledgement's length after small writes in a row");
}

void findings_sentence(const struct findings *f, char *text, size_t size) {
    int64_t total;
    char sum[24];
    if (findings_none(f)) {
        text[0] = '\0';
        return;
    }
    uint64_t one_way = findings_count(f, STALL_ONE_WAY, &total);
    if (findings_count(f, STALL_FOUND, &total) > 0) {
        stalls_sentence(f, text, size);
    } else if (one_way > 0) {
        findings_count(f, STALL_ONE_WAY, &total);
        snprintf(text, size,
                 "No stall of a request or an answer; %lu waits (%s) in streams that are never "
                 "answered.",
                 lu(one_way), duration_text(total, sum));
    } else {
        nothing_sentence(f, text, size);
    }
}
