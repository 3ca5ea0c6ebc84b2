/* SPDX-License-Identifier: MIT
 *
 * Fills a statistics file from lines of text, so that a test states its contents:
 *
 *     header KEY NUMBER          version, pid, mode, started_ns, ...
 *     program PATH | library VERSION
 *     row N ROLE ARM MODE FAMILY ADDRESS PORT
 *     count ROW NAME NUMBER ...  by the name in JSON, spread over the shards
 *     exchange ROW NS COUNT | answer ROW NS COUNT
 *     connection SERIAL ROW ARM MODE BORN ENDED PEER PORT LOCAL PORT EXCHANGES NS
 *     module START END OFFSET HEAD PATH
 *     pattern ROW CALLER CALLER COUNT STALLS NS
 *     pieces BYTES BYTES         of the last pattern
 *     bytes OFFSET HEX           damage
 */
#ifndef UNSTALL_TEST_TABLE_H
#define UNSTALL_TEST_TABLE_H

#include <stdbool.h>

#include "stats_format.h"

/* A sound one without rows. */
void table_begin(struct stats_file *s);

/* False: the line is wrong. */
bool table_line(struct stats_file *s, const char *line);

#endif
