/* SPDX-License-Identifier: MIT
 *
 * Socket addresses in the form that filters, arms and the statistics file compare.  Pure.
 */
#ifndef UNSTALL_ADDRESS_H
#define UNSTALL_ADDRESS_H

#include <sys/socket.h>

#include "base.h"
#include "stats_format.h"

/* An IPv4-mapped IPv6 address counts as IPv4.  False for any other family; `to` is then all zero. */
bool address_of(const struct sockaddr_storage *from, struct stats_address *to);

#endif
