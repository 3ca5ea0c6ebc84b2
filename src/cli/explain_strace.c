/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include "explain.h"
int explain_strace(FILE *in, const char *name, struct findings *out) {
    (void)name;
    snprintf(out->stopped, NOTE_TEXT, "neither a capture nor a log of strace with times");
    fclose(in);
    return -EINVAL;
}
