/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "findings.h"

const char *findings_cure_where(const struct finding *r, char text[NOTE_TEXT]) {
    if (r->by_server)
        snprintf(text, NOTE_TEXT, "run the server %s under unstall", r->service);
    else if (r->writer_host[0])
        snprintf(text, NOTE_TEXT, "on %s, run the client under unstall", r->writer_host);
    else
        snprintf(text, NOTE_TEXT, "run it under unstall");
    return text;
}

const char *findings_cure(const struct finding *r, char text[NOTE_TEXT]) {
    snprintf(text, NOTE_TEXT, "unstall run -- %s",
             r->command[0]  ? r->command
             : r->by_server ? "SERVER"
                            : "PROGRAM");
    return text;
}

bool findings_places(const struct finding *r, char *text, size_t size) {
    const struct finding_example *e = &r->examples[0];
    if (!e->place[0][0] || !e->place[1][0])
        return false;
    if (strcmp(e->place[0], e->place[1]) == 0)
        snprintf(text, size, "Both pieces are written by %s.", e->place[0]);
    else
        snprintf(text, size, "The first piece is written by %s, the second by %s.", e->place[0],
                 e->place[1]);
    return true;
}

const char *findings_other_side(const struct finding *r) {
    return r->by_server ? "the clients" : r->service[0] ? r->service : "the server";
}

const char *findings_cure_there(const struct finding *r, int which) {
    if (which == 0)
        return r->by_server ? "unstall run --quickack auto -- CLIENT"
                            : "unstall run --quickack auto -- SERVER";
    return "ip route change ROUTE quickack 1    # ROUTE as `ip route show` has it";
}
