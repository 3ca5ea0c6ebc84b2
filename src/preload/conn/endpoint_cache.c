/* SPDX-License-Identifier: MIT */
#include "endpoint_cache.h"

#include <netinet/in.h>
#include <string.h>

enum { FAMILIES = 256 };

struct family {
    uint64_t key; /* whose it is: a hash of the endpoint */
    uint64_t model[2];
    uint16_t learned;
    uint16_t quick_turns;
    uint16_t forks; /* the generation of the process whose turns those were */
};

_Static_assert(sizeof(struct turn_model) == sizeof(((struct family *)0)->model), "as whole words");

static struct family families[FAMILIES];
bool endpoint_nodelay_only[FAMILIES];

static uint8_t family_of(uint64_t key) {
    uint8_t endpoint = (uint8_t)(1 + (key >> 16) % (FAMILIES - 1));
    struct family *f = &families[endpoint];
    if (LOAD(&f->key) != key) {
        STORE(&f->learned, 0);
        STORE(&f->key, key);
    }
    return endpoint;
}

uint8_t endpoint_of_listener(const struct conn *listener) {
    /* the pool's address and the number are both used again by another listener only */
    uintptr_t who[2] = {(uintptr_t)listener, (uintptr_t)listener->fd};
    return family_of(stats_hash(1, who, sizeof(who)));
}

uint8_t endpoint_of_destination(const struct sockaddr *address, socklen_t length) {
    if (length < sizeof(struct sockaddr_in) ||
        (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return 0;
    size_t known = address->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_zero)
                                                 : sizeof(struct sockaddr_in6);
    return length < known ? 0 : family_of(stats_hash(2, address, known));
}

void endpoint_join(struct conn *c, uint8_t endpoint) {
    const struct family *f = &families[endpoint];
    c->endpoint = endpoint;
    c->policy.nodelay_only |= LOAD(&endpoint_nodelay_only[endpoint]);
    if (!endpoint || !LOAD(&f->learned))
        return;
    uint64_t model[2] = {LOAD(&f->model[0]), LOAD(&f->model[1])};
    memcpy(&c->policy.model, model, sizeof(model));
    /* a child may do other work, and what each of many learns anew by a late piece is a habit of them */
    c->policy.quick_turns = LOAD(&f->forks) == fork_generation ? (uint8_t)LOAD(&f->quick_turns) : 0;
    c->policy.bursty = c->policy.from_cache = true;
}

void endpoint_update(const struct conn *c) {
    const struct policy *p = &c->policy;
    if (!endpoint_update_is_due(c) || !(p->nodelay_only || (p->bursty && p->input_ever)))
        return;
    struct family *f = &families[c->endpoint];
    uint64_t model[2];
    memcpy(model, &p->model, sizeof(model));
    STORE(&f->model[0], model[0]);
    STORE(&f->model[1], model[1]);
    STORE(&f->quick_turns, p->quick_turns);
    STORE(&f->forks, (uint16_t)fork_generation);
    STORE(&f->learned, !p->nodelay_only);
}

void endpoint_set_nodelay_only(uint8_t endpoint) {
    if (endpoint)
        STORE(&endpoint_nodelay_only[endpoint], true);
}
