/* SPDX-License-Identifier: MIT
 *
 * The names of code that a runtime has compiled: /tmp/perf-PID.map, which Node, the JVM and CPython write on
 * request.  It has a line for each piece of code: address, length, name.
 *
 * Every user can write to /tmp.  The command uses only a regular file that belongs to the process's own user
 * and was written while that process ran.
 */
#ifndef UNSTALL_CLI_PERF_MAP_H
#define UNSTALL_CLI_PERF_MAP_H

#include "symbols.h"

struct perf_map;

/* NULL: there is no such file that may be used. */
struct perf_map *perf_map_open(const struct reader_file *r);
void perf_map_close(struct perf_map *m);

/* Names the code at pc as a frame of a script.  False: it is not in the map, or it is the runtime's own. */
bool perf_map_find(const struct perf_map *m, uint64_t pc, struct frame *frame);

/* Parses the name of an entry: "JS:~send /srv/app.js:2:20", "py::send:/srv/app.py", "void App.send(byte[])".
 * False for a runtime's own code. */
bool perf_map_name(const char *name, struct frame *frame);

#endif
