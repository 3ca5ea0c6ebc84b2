/* SPDX-License-Identifier: MIT */
#include "report.h"
void sites_text(FILE *out, const struct segments *s, unsigned width) {
    (void)out, (void)s, (void)width;
}
void json_patterns(struct json *j, const struct reader_segment *r) {
    (void)r;
    json_array(j, "patterns");
    json_array_end(j);
}
