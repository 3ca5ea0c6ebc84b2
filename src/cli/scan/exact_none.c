/* SPDX-License-Identifier: MIT
 *
 * The source `exact` of a build without libbpf, bpftool or clang: it never begins, so nothing else is called.
 */
#include <stdio.h>

#include "source.h"

static void *begin(const struct scan_options *o, char error[SCAN_ERROR]) {
    (void)o;
    snprintf(error, SCAN_ERROR,
             "this build has no BPF programs; build it with clang, bpftool and libbpf "
             "(scripts/setup --full)");
    return NULL;
}

const struct scan_source scan_exact = {.begin = begin};
