/* SPDX-License-Identifier: MIT
 *
 * Socket addresses as filters, arms and the segment compare them.  Pure.
 */
#ifndef UNSTALL_ADDRESS_H
#define UNSTALL_ADDRESS_H

#include <sys/socket.h>

#include "base.h"
#include "stats_format.h"

/* IPv4 in IPv6 counts as IPv4.  Another family: all zero, and false. */
bool address_of(const struct sockaddr_storage *from, struct stats_address *to);

#endif
