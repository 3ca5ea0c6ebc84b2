/* SPDX-License-Identifier: MIT
 *
 * The names of the pins of an attachment, in the order in which they are made.
 */
#ifndef UNSTALL_ATTACH_PINS_H
#define UNSTALL_ATTACH_PINS_H

#define PIN_CONFIG      "config"  /* a map */
#define PIN_SOCKETS     "sockets" /* a map */
#define PIN_RESTORE     "restore" /* reading it puts all sockets of the namespace back */
#define PIN_SET         "setsockopt"
#define PIN_GET         "getsockopt"
#define PIN_CONNECTIONS "connections" /* of an experiment: a map */
#define PIN_ARMS        "arms"        /* likewise */
#define PIN_SENT        "sent"        /* its tracepoints */
#define PIN_RECEIVED    "received"
#define PIN_DATA        "data"
#define PIN_STATE       "state"
#define PIN_EVENTS      "events"
#define PIN_CREATE      "create"

enum { PIN_PATH = 160 };

void attach_pin_path(const char *name, const char *pin, char path[PIN_PATH]);

#endif
