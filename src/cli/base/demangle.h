/* SPDX-License-Identifier: MIT
 *
 * Names of functions, from the linker's form to their language's: C++, Rust (v0 and legacy) and Nim.
 */
#ifndef UNSTALL_CLI_DEMANGLE_H
#define UNSTALL_CLI_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* True for "send__app_12": a name of Nim if its program is one (NimMain). */
bool is_nim_name(const char *name);

/* The name without parameters, made safe; the name itself if it is of no known form, or if the command was
 * built without libiberty.  nim: its program is of Nim, and is_nim_name() holds; a module in a folder
 * ("requestAux__pureZhttpclient_3000") needs no such witness.  Writes into `text` and returns it. */
const char *demangle(const char *name, bool nim, char *text, size_t size);

#endif
