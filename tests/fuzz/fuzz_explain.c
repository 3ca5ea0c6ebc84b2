/* SPDX-License-Identifier: MIT
 *
 * libFuzzer target: the input of `unstall explain`.  No bytes crash it, and it claims no more stalls than fit
 * into the input.
 *
 * Input: 'p' and packets (link type, time, length, bytes), which reach further than a file's header lets
 * them; or a file, a capture or a log of strace as its content says.
 */
#include <assert.h>
#include <pcap/dlt.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

static void check(struct findings *f) {
    uint64_t stalls = 0;
    assert(f->row_count <= FINDINGS + STALL_VERDICTS);
    for (uint32_t i = 0; i < f->row_count; i++) {
        const struct waits *w = &f->rows[i].waits;
        int64_t median = waits_quantile(w, 0.5);
        assert(w->count > 0 && w->min_ns <= median && median <= w->max_ns);
        stalls += w->count;
    }
    /* Each takes a packet or a line for its beginning, one for its end. */
    assert(stalls <= f->entries);
    assert(f->note_count <= NOTES);
}

static void show(struct findings *f) {
    static FILE *nowhere;
    if (!nowhere)
        nowhere = fopen("/dev/null", "we");
    struct json j = json_begin(nowhere);
    explain_text(nowhere, "input", f);
    explain_json(&j, "input", f);
    json_end(&j);
    if (f->row_count > 0) {
        struct ladder stalled = explain_ladder(f, &f->rows[0]), cured = explain_ladder_cured(f, &f->rows[0]);
        ladder_text(nowhere, &stalled, 40, true);
        ladder_text(nowhere, &cured, 80, false);
    }
}

static void as_file(const uint8_t *data, size_t size) {
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
    struct findings f;
    if (!in || !findings_make(&f))
        abort();
    explain_open(in, "input", &f);
    check(&f);
    show(&f);
    findings_free(&f);
}

/* ---- packets --------------------------------------------------------- */

static void done(void *context, void *flow) {
    struct flow *f = flow;
    uint64_t *packets = context;
    for (int i = 0; i < 2; i++) {
        const struct evidence *e = f->sender[i].evidence;
        stall_judge(f, i);
        assert(!e || e->waits.count <= *packets);
    }
    flow_end(f);
}

static void as_packets(const uint8_t *p, size_t size) {
    static const int links[] = {DLT_EN10MB, DLT_LINUX_SLL, DLT_LINUX_SLL2, DLT_NULL,
                                DLT_LOOP,   DLT_RAW,       DLT_IPV4,       DLT_IPV6};
    uint64_t packets = 0;
    int64_t now = 0;
    struct table t;
    if (!table_make(&t, 4, sizeof(struct flow), done, &packets)) /* few, so that some are evicted */
        abort();
    while (size >= 4) {
        size_t length = p[3] < size - 4 ? p[3] : size - 4;
        uint8_t *copy = malloc(length + 1); /* of its own: reading beyond it is seen */
        struct tcp_segment s;
        int from;
        memcpy(copy, p + 4, length);
        now += (int64_t)(p[1] << 8 | p[2]) * 20000;
        if (packet_read(links[p[0] & 7], copy, (uint32_t)length, (uint32_t)length + (p[0] >> 3),
                        &s) == PACKET_TCP) {
            struct flow *f = flows_find(&t, &s, &from);
            if (s.flags & TCP_SYN && stall_is_new_connection(f, from, &s))
                flows_restart(&t, f);
            stall_feed(f, from, &s, ++packets, now);
        }
        free(copy);
        p += 4 + length;
        size -= 4 + length;
    }
    table_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 && data[0] == 'p')
        as_packets(data + 1, size - 1);
    else if (size > 0)
        as_file(data, size);
    return 0;
}
