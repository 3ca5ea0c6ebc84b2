/* SPDX-License-Identifier: MIT
 *
 * Comma lists, and what they include.
 */
#include "config_list.h"

#include <string.h>

#include "config.h"

bool config_next_item(const char **list, const char **item, size_t *length, bool *exclude) {
    if (!*list)
        return false;
    const char *start = *list;
    const char *comma = strchr(start, ',');
    *length = comma ? (size_t)(comma - start) : strlen(start);
    *list = comma ? comma + 1 : NULL;
    *exclude = *length > 0 && start[0] == '!';
    *item = start + *exclude;
    *length -= *exclude;
    return true;
}

/* With only excluding items everything else is included. */
static bool verdict(bool included, bool excluded, bool any_including) {
    return !excluded && (included || !any_including);
}

bool config_program_included(const char *list, const char *program) {
    const char *item;
    size_t length, name_length = strlen(program);
    bool exclude, included = false, excluded = false, any = false;
    while (config_next_item(&list, &item, &length, &exclude)) {
        bool same = length == name_length && memcmp(item, program, length) == 0;
        any |= !exclude;
        included |= same && !exclude;
        excluded |= same && exclude;
    }
    return verdict(included, excluded, any);
}

static bool prefix_matches(const struct peer_range *range, int family, const uint8_t *address) {
    if (range->family != family)
        return false;
    unsigned whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(range->address, address, whole) != 0)
        return false;
    return rest == 0 || ((range->address[whole] ^ address[whole]) >> (8 - rest)) == 0;
}

bool config_includes(const struct config *c, uint16_t service_port, int peer_family,
                     const uint8_t *peer_address) {
    bool included = false, excluded = false, any = false;
    for (uint32_t i = 0; i < c->port_count; i++) {
        const struct port_range *r = &c->ports[i];
        bool same = service_port >= r->first && service_port <= r->last;
        any |= !r->exclude;
        included |= same && !r->exclude;
        excluded |= same && r->exclude;
    }
    if (!verdict(included, excluded, any))
        return false;
    included = excluded = any = false;
    for (uint32_t i = 0; i < c->peer_count; i++) {
        const struct peer_range *r = &c->peers[i];
        bool same = peer_family && prefix_matches(r, peer_family, peer_address);
        any |= !r->exclude;
        included |= same && !r->exclude;
        excluded |= same && r->exclude;
    }
    return verdict(included, excluded, any);
}
