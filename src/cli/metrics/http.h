/* SPDX-License-Identifier: MIT
 *
 * A small HTTP server for one page: one thread, poll(2).  The number of clients, the length of a request
 * and the time of a silent client are bounded.
 */
#ifndef UNSTALL_CLI_HTTP_H
#define UNSTALL_CLI_HTTP_H

#include <stdio.h>

#define HTTP_PLAIN_TEXT  "text/plain; charset=utf-8"
#define HTTP_UNAVAILABLE "503 Service Unavailable"

struct http_answer {
    const char *status; /* "200 OK" */
    const char *type;   /* Content-Type */
};

struct http_page {
    const char *path; /* "/metrics" */
    /* Writes the body for a request, whose text (request line and headers) it may search. */
    struct http_answer (*render)(FILE *body, const char *request, const void *context);
    const void *context;
};

/* Serves the page at "[ADDRESS:]PORT" until SIGTERM or SIGINT, and says on stderr where.  0, or EXIT_OWN and
 * a complaint. */
int http_serve(const char *where, const struct http_page *page);

#endif
