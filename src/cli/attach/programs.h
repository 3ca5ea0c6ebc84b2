/* SPDX-License-Identifier: MIT
 *
 * The BPF programs of an attachment: loads and pins them, and runs their iterators over the existing sockets.
 *
 * All functions return 0 or -errno.
 */
#ifndef UNSTALL_ATTACH_PROGRAMS_H
#define UNSTALL_ATTACH_PROGRAMS_H

#include "target.h"
#include "walk.h"

struct attach_bpf; /* of the skeleton */

/* Whether stderr shows what libbpf and the kernel's verifier say. */
void programs_show_log(bool shown);

/* Also after an error, programs_free(*opened). */
int programs_load(struct attach_bpf **opened, const struct attach_config *c);
void programs_free(struct attach_bpf *b);

int programs_pin_config(const struct attach_bpf *b, const char *name);

/* Pins all the rest, and takes in the sockets that exist.  `missed`: as of attach_walk(). */
int programs_begin(struct attach_bpf *b, const struct attach_target *t, bool experiment,
                   struct prose *missed);

/* Loads the walk `restore` anew over the record of the sockets, where its pin was removed. */
int programs_pin_restore_again(const char *name);

#endif
