/* SPDX-License-Identifier: MIT
 *
 * The source `exact` of a build without libbpf, bpftool or clang.
 */
#include <errno.h>
#include <stdio.h>

#include "source.h"

static void *begin(const struct scan_options *o, char error[SCAN_ERROR]) {
    (void)o;
    snprintf(error, SCAN_ERROR,
             "this build has no BPF programs; build it with clang, bpftool and libbpf "
             "(scripts/setup --full)");
    return NULL;
}

static int run(void *source, uint64_t until_ns, const volatile sig_atomic_t *stop) {
    (void)source, (void)until_ns, (void)stop;
    return -ENOSYS;
}

static int collect(void *source, struct scan_result *r) {
    (void)source, (void)r;
    return -ENOSYS;
}

static const struct stats_files *places(void *source, const struct scan_table *t) {
    (void)source;
    (void)t;
    return NULL;
}

static void forget(void *source, const struct scan_key *keys, size_t count) {
    (void)source;
    (void)keys;
    (void)count;
}

static void end(void *source) {
    (void)source;
}

const struct scan_source scan_exact = {begin, run, collect, places, forget, end};
