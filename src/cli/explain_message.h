/* SPDX-License-Identifier: MIT
 *
 * Messages of a log of strace: writes gathered until input comes, and the wait between.
 */
#ifndef UNSTALL_CLI_EXPLAIN_MESSAGE_H
#define UNSTALL_CLI_EXPLAIN_MESSAGE_H

#include "explain_link.h"

/* more: the call kept the segment open (MSG_MORE). */
void message_write(const struct thread *t, struct link *link, uint64_t bytes, bool more,
                   uint64_t line, int64_t at_ns);

/* The application's options on this connection. */
void message_nodelay(struct link *link, bool on);
void message_cork(struct link *link, bool on);

/* Input has come. */
void message_input(struct links *l, const struct thread *t, struct link *link, uint64_t line,
                   int64_t at_ns, bool exact);

/* The message is over without an answer. */
void message_drop(struct link *link);

#endif
