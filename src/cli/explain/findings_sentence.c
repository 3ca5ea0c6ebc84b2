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

struct verdict findings_verdict(const struct findings *f) {
    int64_t total;
    struct verdict v = {
        .stalls = findings_count(f, STALL_FOUND, &total), .exchanges = f->exchanges, .firsts = f->firsts};
    if (findings_none(f))
        verdict_because(&v, "the file was not read");
    else if (f->entries == 0)
        verdict_because(&v, "there is no packet in this capture. Was it made on the right interface "
                            "(tcpdump -i any), for the right port, and while the programs talked?");
    else if (f->because[0])
        verdict_because(&v, "%s", f->because);
    else if (f->source == SOURCE_CAPTURE ? f->understood == 0 : f->connections == 0)
        verdict_because(&v, f->source == SOURCE_CAPTURE ? "there is no TCP in this capture"
                                                        : "there is no call on a TCP connection");
    return v;
}

static void no_stall(const struct findings *f, const struct verdict *v, char *text, size_t size) {
    struct prose p = {.used = 0};
    int64_t total;
    char sum[24];
    uint64_t one_way = findings_count(f, STALL_ONE_WAY, &total);
    verdict_words(&p, v, "");
    if (one_way)
        prose_add(&p, "; %lu waits (%s) in streams that are never answered", lu(one_way),
                  duration_text(total, sum));
    else if (verdict_of(v) == VERDICT_NONE)
        prose_add(&p, ": %s",
                  f->source == SOURCE_CAPTURE
                      ? "no small segment waited for a delayed acknowledgement"
                      : "no wait of a delayed acknowledgement's length after small writes in a row");
    snprintf(text, size, "%s%s", p.text, p.text[p.used - 1] == '?' ? "" : ".");
}

void findings_sentence(const struct findings *f, char *text, size_t size) {
    struct verdict v = findings_verdict(f);
    if (v.stalls)
        stalls_sentence(f, text, size);
    else
        no_stall(f, &v, text, size);
}
