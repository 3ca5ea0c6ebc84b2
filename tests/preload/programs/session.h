/* SPDX-License-Identifier: MIT
 *
 * The driver of a file of many clients, each a function without arguments: harness.program() compiles the one
 * that -DPROGRAM names.  It connects by itself, and may end the process; else report() ends it.
 */
#include "client.h"

#pragma GCC diagnostic ignored "-Wunused-function"

static client_t client;
static UNUSED const char *how = "", *more = ""; /* argv[5] and argv[6] */

static void PROGRAM(void);

int main(int argc, char **argv) {
    client = client_arguments(argc, argv);
    if (argc > 5) how = argv[5];
    if (argc > 6) more = argv[6];
    PROGRAM();
    return report();
}
