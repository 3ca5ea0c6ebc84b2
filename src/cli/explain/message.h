/* SPDX-License-Identifier: MIT
 *
 * Messages in a log of strace: the writes up to the next input, and the wait between.
 */
#ifndef UNSTALL_CLI_MESSAGE_H
#define UNSTALL_CLI_MESSAGE_H

#include "connections.h"

/* more: the call keeps the segment open (MSG_MORE). */
void message_write(const struct thread *t, struct connection *conn, uint64_t bytes, bool more,
                   uint64_t line, int64_t at_ns);

/* Who has made the write of this line, unless that is known already. */
void message_place(struct connection *conn, uint64_t line, const char *place);

/* The application sets an option of this connection. */
void message_nodelay(struct connection *conn, bool on);
void message_cork(struct connection *conn, bool on);

/* Input has come: it ends the message. */
void message_input(struct connections *l, const struct thread *t, struct connection *conn,
                   uint64_t line, int64_t at_ns, bool exact);

/* The message ends without an answer. */
void message_drop(struct connection *conn);

#endif
