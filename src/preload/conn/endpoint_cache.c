/* SPDX-License-Identifier: MIT */
#include "endpoint_cache.h"

#include <string.h>

enum { ENTRIES = 256 };

struct entry {
    uint64_t key; /* hash of the endpoint */
    uint64_t model[2];
    uint16_t learned;
    uint16_t quick_turns;
    uint16_t forks; /* fork generation of the process that wrote quick_turns */
    uint16_t crosses;
};

_Static_assert(sizeof(struct turn_model) == sizeof(((struct entry *)0)->model), "as whole words");

static struct entry entries[ENTRIES];
union endpoint_late endpoint_late[ENTRIES];

static uint8_t entry_of(uint64_t key) {
    uint8_t endpoint = (uint8_t)(1 + (key >> 16) % (ENTRIES - 1));
    struct entry *f = &entries[endpoint];
    if (LOAD(&f->key) != key) {
        STORE(&f->learned, 0);
        STORE(&f->crosses, 0);
        STORE(&f->key, key);
    }
    return endpoint;
}

uint8_t endpoint_of_listener(const struct conn *listener) {
    /* only another listener can get both the same address in the pool and the same number */
    uintptr_t key[2] = {(uintptr_t)listener, (uintptr_t)listener->fd};
    return entry_of(stats_hash(1, key, sizeof(key)));
}

uint8_t endpoint_of_destination(const struct sockaddr *address, socklen_t length) {
    if (length < sizeof(struct sockaddr_in) ||
        (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return 0;
    size_t known = address->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_zero)
                                                 : sizeof(struct sockaddr_in6);
    return length < known ? 0 : entry_of(stats_hash(2, address, known));
}

void endpoint_join(struct conn *c, uint8_t endpoint) {
    const struct entry *f = &entries[endpoint];
    c->endpoint = endpoint;
    c->policy.nodelay_only |= LOAD(&endpoint_late[endpoint].nodelay_only);
    c->policy.crosses |= LOAD(&f->crosses);
    if (!endpoint || !LOAD(&f->learned))
        return;
    uint64_t model[2] = {LOAD(&f->model[0]), LOAD(&f->model[1])};
    memcpy(&c->policy.model, model, sizeof(model));
    /* not from before a fork: a child may do other work, and must prove its own habit */
    c->policy.quick_turns = LOAD(&f->forks) == fork_generation ? (uint8_t)LOAD(&f->quick_turns) : 0;
    c->policy.bursty = c->policy.from_cache = true;
}

void endpoint_crosses(const struct conn *c) {
    if (c->endpoint)
        STORE(&entries[c->endpoint].crosses, 1);
}

void endpoint_update(const struct conn *c) {
    const struct policy *p = &c->policy;
    if (!endpoint_update_is_due(c) || !(p->nodelay_only || (p->bursty && p->input_ever)))
        return;
    struct entry *f = &entries[c->endpoint];
    uint64_t model[2];
    memcpy(model, &p->model, sizeof(model));
    STORE(&f->model[0], model[0]);
    STORE(&f->model[1], model[1]);
    STORE(&f->quick_turns, p->quick_turns);
    STORE(&f->forks, (uint16_t)fork_generation);
    STORE(&f->learned, !p->nodelay_only);
}
