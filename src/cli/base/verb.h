/* SPDX-License-Identifier: MIT
 *
 * A verb of the command: a file in verbs/ that defines `const struct verb verb_NAME`.
 *
 * verbs/main.c has all verbs in one table.  `unstall --help` and `unstall VERB --help` come from it, in one
 * form for all.
 */
#ifndef UNSTALL_CLI_VERB_H
#define UNSTALL_CLI_VERB_H

struct verb {
    const char *name;
    const char *summary; /* one line for `unstall --help`; a sentence without its full stop */
    const char *usage;   /* the rest after `unstall NAME`: "[--json] PROGRAM|PID" */
    const char *help;    /* body of --help, with a final newline: options and notes */
    /* argv[0] is the verb; returns the exit code. */
    int (*run)(int argc, char **argv);
};

extern const struct verb verb_ab, verb_attach, verb_detach, verb_disable, verb_doctor, verb_enable,
    verb_explain, verb_metrics, verb_observe, verb_report, verb_run, verb_scan, verb_set, verb_status,
    verb_top;

#endif
