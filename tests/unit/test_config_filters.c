/* SPDX-License-Identifier: MIT
 *
 * Filters: which connections and programs are included.
 */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "config.h"
#include "unit.h"

static void set(struct config *c, const char *name, const char *value) {
    const char *expected = NULL;
    if (value)
        cr_assert(config_set(c, name, value, &expected) == CONFIG_OK, "%s=%s", name, value);
}

static const struct {
    const char *ports;
    uint16_t port;
    bool wanted;
} by_port[] = {
    {NULL, 80, true},           {"80", 80, true},          {"80", 81, false},
    {"80", 0, false},           {"1-65535", 1, true},      {"1-65535", 65535, true},
    {"8000-8999", 7999, false}, {"8000-8999", 8000, true}, {"8000-8999", 8999, true},
    {"8000-8999", 9000, false}, {"80,443", 443, true},     {"80,443", 8443, false},
    {"80-80", 80, true},        {"!443", 443, false},      {"!443", 80, true},
    {"!1-1023", 80, false},     {"!1-1023", 1024, true},   {"8000-8999,!8443", 8443, false},
    {"8000-8999,!8443", 8442, true},
    {"8000-8999,!8443", 22, false}, /* an excluding item includes nothing */
    {"!8443,8000-8999", 8443, false}, /* in any order */
    {"80,!80", 80, false},      {"!80,!443", 22, true},
};

Test(config_filters, ports) {
    uint8_t peer[16] = {127, 0, 0, 1};
    EACH_ROW(row, by_port) {
        struct config c;
        config_defaults(&c);
        set(&c, "UNSTALL_PORTS", row->ports);
        cr_expect(config_includes(&c, row->port, AF_INET, peer) == row->wanted,
                  "UNSTALL_PORTS=%s, port %u", row->ports ? row->ports : "(unset)", row->port);
    }
}

static const struct {
    const char *peers, *peer; /* NULL: of unknown family */
    bool wanted;
} by_peer[] = {
    {NULL, "10.1.2.3", true},                      {NULL, NULL, true},
    {"10.1.2.3", "10.1.2.3", true},                {"10.1.2.3", "10.1.2.4", false},
    {"10.0.0.0/8", "10.255.255.255", true},        {"10.0.0.0/8", "11.0.0.0", false},
    {"10.9.8.7/8", "10.1.2.3", true}, /* bits of the host do not matter */
    {"0.0.0.0/0", "203.0.113.9", true},            {"0.0.0.0/0", "::1", false},
    {"::/0", "2001:db8::1", true},                 {"::/0", "127.0.0.1", false},
    {"::/0,0.0.0.0/0", "127.0.0.1", true},         {"192.168.0.0/31", "192.168.0.1", true},
    {"192.168.0.0/31", "192.168.0.2", false},      {"192.168.0.0/32", "192.168.0.0", true},
    {"192.168.0.0/32", "192.168.0.1", false},      {"128.0.0.0/1", "255.0.0.1", true},
    {"128.0.0.0/1", "127.0.0.1", false},           {"172.16.0.0/12", "172.31.255.255", true},
    {"172.16.0.0/12", "172.32.0.0", false},        {"10.0.0.0/9", "10.127.0.1", true},
    {"10.0.0.0/9", "10.128.0.1", false},           {"::1", "::1", true},
    {"::1", "::2", false},                         {"::1/128", "::1", true},
    {"2001:db8::/32", "2001:db8:ffff::1", true},   {"2001:db8::/32", "2001:db9::1", false},
    {"2001:db8::/33", "2001:db8:7fff::1", true},   {"2001:db8::/33", "2001:db8:8000::1", false},
    {"2001:db8::/127", "2001:db8::1", true},       {"2001:db8::/127", "2001:db8::2", false},
    {"fe80::/10", "febf::1", true},                {"fe80::/10", "fec0::1", false},
    {"!10.0.0.0/8", "10.1.2.3", false},            {"!10.0.0.0/8", "11.1.2.3", true},
    {"!10.0.0.0/8", "::1", true},                  {"!10.0.0.0/8", NULL, true},
    {"10.0.0.0/8", NULL, false},                   {"10.0.0.0/8,!10.1.0.0/16", "10.1.2.3", false},
    {"10.0.0.0/8,!10.1.0.0/16", "10.2.2.3", true}, {"!10.1.0.0/16,10.0.0.0/8", "10.1.2.3", false},
    {"!0.0.0.0/0", "127.0.0.1", false},            {"!::/0", "::1", false},
};

Test(config_filters, peers) {
    EACH_ROW(row, by_peer) {
        struct config c;
        uint8_t address[16] = {0};
        int family = 0;
        config_defaults(&c);
        set(&c, "UNSTALL_PEERS", row->peers);
        if (row->peer) {
            family = strchr(row->peer, ':') ? AF_INET6 : AF_INET;
            ASSERT(inet_pton(family, row->peer, address) == 1);
        }
        cr_expect(config_includes(&c, 80, family, address) == row->wanted,
                  "UNSTALL_PEERS=%s, peer %s", row->peers ? row->peers : "(unset)",
                  row->peer ? row->peer : "unknown");
    }
}

static const struct {
    const char *list, *program;
    bool wanted;
} by_program[] = {
    {"python3", "python3", true},           {"python3", "python", false},
    {"python", "python3", false},           {"python3", "python3.11", false},
    {"perl,python3,ruby", "python3", true}, {"perl,python3,ruby", "ruby", true},
    {"!java", "java", false},               {"!java", "python3", true},
    {"!java,!node", "node", false},         {"!java,python3", "python3", true},
    {"!java,python3", "ruby", false},       {"java,!java", "java", false},
    {"a b", "a b", true},                   {"Python3", "python3", false},
};

Test(config_filters, programs) {
    EACH_ROW(row, by_program) {
        struct config c;
        config_defaults(&c);
        set(&c, "UNSTALL_PROGRAMS", row->list);
        cr_expect(config_program_included(c.programs, row->program) == row->wanted,
                  "UNSTALL_PROGRAMS=%s, program %s", row->list, row->program);
    }
}
