/* SPDX-License-Identifier: MIT */
#include "judge.h"

enum { MS = 1000 * 1000, EARLY_NS = 20 * MS };

/* True if pacing explains the wait: at the pacing rate the queued bytes take PACED_MS or more. */
static bool is_paced(const struct scan_sample *s) {
    enum { PACED_MS = 5 };
    return s->pacing != UINT64_MAX && s->pacing / 1000 * PACED_MS < s->queued;
}

bool scan_holds(const struct scan_sample *s) {
    return s->unsent > 0 && s->unsent < s->mss && s->unacked > 0 && s->unacked < s->cwnd &&
           s->queued <= s->window && !s->recovers && !is_paced(s);
}

static uint64_t sent_at(const struct scan_sample *s) {
    uint64_t since = (uint64_t)s->since_sent_ms * MS;
    return since < s->at_ns ? s->at_ns - since : 0;
}

/* Estimates when the held write was made.  If the sample before shows the first write alone, the held
 * write came between the two samples: take the middle.  Else take the time of the first write. */
static void begin_hold(struct scan_judge *j, const struct scan_sample *s) {
    j->hold = *s;
    j->held = true;
    j->first = !j->started;
    j->sent_ns = sent_at(s);
    j->begin_ns = j->sent_ns;
    if (j->started && j->last.data_out == s->data_out && j->last.at_ns > j->begin_ns)
        j->begin_ns = j->last.at_ns + (s->at_ns - j->last.at_ns) / 2;
    else if (j->started && j->last.data_out != s->data_out && j->last.at_ns > j->begin_ns)
        j->begin_ns = j->last.at_ns; /* the tick is coarser than the samples */
}

/* When the held data was sent.  The kernel tells the time of the last segment sent; if another one
 * followed the held data, take the middle of the two samples. */
static uint64_t end_of(const struct scan_judge *j, const struct scan_sample *s) {
    uint64_t sent = sent_at(s);
    if (s->data_out == j->hold.data_out + 1 && sent >= j->last.at_ns)
        return sent;
    return j->last.at_ns + (s->at_ns - j->last.at_ns) / 2;
}

enum end {
    END_NOT_YET,
    END_ACKNOWLEDGED, /* by an acknowledgement without data */
    END_ANSWERED,     /* by data that carries one: the peer answers the first piece */
    END_SENT,         /* before any: the program removed a cork, or the segment filled up */
};

static enum end how_it_ended(const struct scan_judge *j, const struct scan_sample *s) {
    bool acknowledged = s->acked != j->last.acked;
    uint32_t in = s->segments_in - j->last.segments_in, data = s->data_in - j->last.data_in;
    if (s->data_out == j->hold.data_out)
        return s->unsent && s->unacked ? END_NOT_YET
                                       : END_SENT; /* a cork outlives the acknowledgement */
    if (!acknowledged)
        return END_SENT;
    return in > data ? END_ACKNOWLEDGED : END_ANSWERED;
}

static bool take_stall(struct scan_judge *j, uint64_t ended, struct scan_stall *stall) {
    *stall = (struct scan_stall){j->begin_ns, ended, j->first};
    j->stalls++;
    j->waits = true;
    j->received = j->hold.received;
    return true;
}

static bool end_hold(struct scan_judge *j, const struct scan_sample *s, struct scan_stall *stall) {
    enum end end = how_it_ended(j, s);
    uint64_t ended = end_of(j, s);
    uint64_t late = SCAN_LATE_NS + (uint64_t)j->hold.min_rtt_us * 1000;
    if (end == END_NOT_YET)
        return false;
    j->held = false;
    if (s->at_ns - j->last.at_ns > SCAN_GAP_NS)
        return false; /* it ended outside the watched time; only stalls within it are counted */
    if (end == END_SENT)
        j->corked++;
    else if (end == END_ANSWERED || ended < j->sent_ns + late - EARLY_NS || ended <= j->begin_ns)
        j->short_holds++;
    else if (ended < j->sent_ns + late)
        j->early++;
    else
        return take_stall(j, ended, stall);
    return false;
}

bool scan_judge(struct scan_judge *j, const struct scan_sample *s, struct scan_stall *stall) {
    bool found = false;
    if (j->started && s->at_ns - j->last.at_ns <= SCAN_GAP_NS)
        j->watched_ns += s->at_ns - j->last.at_ns;
    if (j->held)
        found = end_hold(j, s, stall);
    if (j->waits && s->received != j->received) {
        j->answered++;
        j->waits = false;
    }
    if (!j->held && scan_holds(s))
        begin_hold(j, s);
    j->last = *s;
    j->started = true;
    return found;
}

bool scan_judge_corks(const struct scan_judge *j) {
    return j->corked > j->stalls / 4 || j->early > j->stalls;
}

bool scan_judge_one_way(const struct scan_judge *j) {
    return j->stalls > 1 && j->answered == 0;
}
