/* SPDX-License-Identifier: MIT */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

bool address_of(const struct sockaddr_storage *from, struct stats_address *to) {
    memset(to, 0, sizeof(*to));
    if (from->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof(in));
        to->family = AF_INET;
        to->port = ntohs(in.sin_port);
        memcpy(to->address, &in.sin_addr, 4);
        return true;
    }
    if (from->ss_family != AF_INET6)
        return false;
    struct sockaddr_in6 in6;
    memcpy(&in6, from, sizeof(in6));
    bool mapped = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr);
    to->family = mapped ? AF_INET : AF_INET6;
    to->port = ntohs(in6.sin6_port);
    memcpy(to->address, in6.sin6_addr.s6_addr + (mapped ? 12 : 0), mapped ? 4 : 16);
    return true;
}
