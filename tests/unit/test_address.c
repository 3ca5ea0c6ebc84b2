/* SPDX-License-Identifier: MIT
 *
 * Socket addresses as filters, arms and statistics compare them.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "config.h"
#include "unit.h"

static const struct {
    const char *row_name;
    int family;
    const char *text;
    int wanted; /* family; 0: refused */
    const char *as; /* the address that is compared */
} addresses[] = {
    {"IPv4", AF_INET, "192.0.2.7", AF_INET, "192.0.2.7"},
    {"IPv6", AF_INET6, "2001:db8::12:3", AF_INET6, "2001:db8::12:3"},
    {"loopback", AF_INET6, "::1", AF_INET6, "::1"},
    {"mapped", AF_INET6, "::ffff:192.0.2.7", AF_INET, "192.0.2.7"},
    {"compatible, not mapped", AF_INET6, "::192.0.2.7", AF_INET6, "::192.0.2.7"},
    {"Unix", AF_UNIX, NULL, 0, NULL},
    {"none", AF_UNSPEC, NULL, 0, NULL},
};

Test(address, of_a_socket) {
    EACH_ROW(row, addresses) {
        struct sockaddr_storage from;
        struct stats_address to, wanted;
        memset(&from, 0xa5, sizeof(from)); /* bytes that the kernel does not fill */
        memset(&to, 0x5a, sizeof(to));
        memset(&wanted, 0, sizeof(wanted));
        from.ss_family = (sa_family_t)row->family;
        struct sockaddr_in *in = (void *)&from;
        struct sockaddr_in6 *in6 = (void *)&from;
        in->sin_port = htons(8080); /* at the same place in both */
        if (row->text)
            ASSERT(inet_pton(row->family, row->text,
                             row->family == AF_INET ? (void *)&in->sin_addr : &in6->sin6_addr) == 1);
        EXPECT_INT(row->row_name, address_of(&from, &to), row->wanted != 0);
        if (row->wanted) {
            wanted.family = (uint8_t)row->wanted;
            wanted.port = 8080;
            ASSERT(inet_pton(row->wanted, row->as, wanted.address) == 1);
        }
        EXPECT(memcmp(&to, &wanted, sizeof(to)) == 0);
    }
}
