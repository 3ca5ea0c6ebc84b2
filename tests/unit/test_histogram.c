/* SPDX-License-Identifier: MIT
 *
 * The bounds of the segment's histograms, which are frozen: files of different
 * versions and hosts add up bucket by bucket.
 */
#include "reader.h"
#include "unit.h"

static const unsigned steps_of[] = {HISTOGRAM_STEPS, COARSE_STEPS};

static unsigned last_of(unsigned steps) {
    return HISTOGRAM_OCTAVES * steps + 1;
}

Test(histogram, the_lowest_value_of_a_bucket_lies_in_it) {
    for (size_t s = 0; s < ARRAY_SIZE(steps_of); s++)
        for (unsigned n = 0; n <= last_of(steps_of[s]); n++) {
            uint64_t lowest = histogram_lowest(n, steps_of[s]);
            EXPECT_INT("lowest", histogram_bucket_of(lowest, steps_of[s]), n);
            if (n > 0)
                EXPECT_INT("one less", histogram_bucket_of(lowest - 1, steps_of[s]), n - 1);
        }
}

/* 3.1 % from any value of a bucket to its lowest; a quarter for the coarse ones. */
Test(histogram, a_value_is_known_well) {
    for (size_t s = 0; s < ARRAY_SIZE(steps_of); s++)
        for (unsigned n = 1; n < last_of(steps_of[s]); n++) {
            double low = (double)histogram_lowest(n, steps_of[s]);
            double high = (double)histogram_lowest(n + 1, steps_of[s]);
            cr_expect((high - low) / low <= 1.0 / steps_of[s] + 1e-9, "bucket %u is %.4f wide", n,
                      (high - low) / low);
        }
}

static const struct {
    const char *name;
    uint64_t ns;
    unsigned bucket;
} frozen[] = {
    {"nothing", 0, 0},                                   {"below 1024 ns", 1023, 0},
    {"1024 ns", 1024, 1},                                {"1055 ns", 1055, 1},
    {"1056 ns", 1056, 2},                                {"2047 ns", 2047, 32},
    {"2048 ns", 2048, 33},                               {"1 ms", 1000000, 1 + 9 * 32 + 29},
    {"40 ms", 40000000, 1 + 15 * 32 + 6},                {"100 s", 100000000000, 1 + 26 * 32 + 14},
    {"137 s", UINT64_C(1) << 37, HISTOGRAM_BUCKETS - 1}, {"all of it", UINT64_MAX, HISTOGRAM_BUCKETS - 1},
};

Test(histogram, frozen) {
    EACH_ROW(row, frozen)
    EXPECT_INT(row->name, histogram_bucket_of(row->ns, HISTOGRAM_STEPS), row->bucket);
    EXPECT_INT("buckets", HISTOGRAM_BUCKETS, 866);
    EXPECT_INT("coarse buckets", COARSE_BUCKETS, 110);
    EXPECT_INT("coarse 40 ms", histogram_bucket_of(40000000, COARSE_STEPS), 1 + 15 * 4 + 0);
}
