/* SPDX-License-Identifier: MIT
 *
 * For the exports_*.c alone: each exported name forwards to unstall_<name>, and
 * libc's other names for the same function are aliases of the exported one.
 */
#ifndef UNSTALL_EXPORTS_H
#define UNSTALL_EXPORTS_H

#include "base.h"
#include "names.h"
#include "real.h"
#include "shim.h"

/* `other` is one more name of `name` (fcntl and fcntl64 are one address). */
#define ALSO(other, name) extern __typeof__(name) other EXPORT __attribute__((alias(#name)));

#endif
