/* SPDX-License-Identifier: MIT
 *
 * The verbs of the command.  Each is a file of this folder; main.c has them in one table.
 */
#ifndef UNSTALL_CLI_VERBS_H
#define UNSTALL_CLI_VERBS_H

#include "verb.h"

extern const struct verb verb_ab, verb_attach, verb_detach, verb_disable, verb_doctor, verb_enable,
    verb_explain, verb_metrics, verb_observe, verb_report, verb_run, verb_scan, verb_set, verb_status,
    verb_top;

#endif
