/* SPDX-License-Identifier: MIT */
#include "kin.h"

#include <netinet/in.h>
#include <string.h>

enum { FAMILIES = 256 };

struct family {
    uint64_t key; /* whose it is: a hash of the endpoint */
    uint64_t model[2];
    uint16_t taught;
    uint16_t quick_turns;
    uint16_t forks; /* the generation of the process whose turns those were */
};

_Static_assert(sizeof(struct turn_model) == sizeof(((struct family *)0)->model), "as whole words");

static struct family families[FAMILIES];
bool kin_forbidden[FAMILIES];

static uint8_t family_of(uint64_t key) {
    uint8_t kin = (uint8_t)(1 + (key >> 16) % (FAMILIES - 1));
    struct family *f = &families[kin];
    if (LOAD(&f->key) != key) {
        STORE(&f->taught, 0);
        STORE(&f->key, key);
    }
    return kin;
}

uint8_t kin_of_listener(const struct conn *listener) {
    /* the pool's address and the number are both used again by another listener only */
    uintptr_t who[2] = {(uintptr_t)listener, (uintptr_t)listener->fd};
    return family_of(segment_hash(1, who, sizeof(who)));
}

uint8_t kin_of_destination(const struct sockaddr *address, socklen_t length) {
    if (length < sizeof(struct sockaddr_in) ||
        (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return 0;
    size_t known = address->sa_family == AF_INET ? offsetof(struct sockaddr_in, sin_zero)
                                                 : sizeof(struct sockaddr_in6);
    return length < known ? 0 : family_of(segment_hash(2, address, known));
}

void kin_join(struct conn *c, uint8_t kin) {
    const struct family *f = &families[kin];
    c->kin = kin;
    c->policy.fallen |= LOAD(&kin_forbidden[kin]);
    if (!kin || !LOAD(&f->taught))
        return;
    uint64_t model[2] = {LOAD(&f->model[0]), LOAD(&f->model[1])};
    memcpy(&c->policy.model, model, sizeof(model));
    /* a child may do other work, and what each of many learns anew by a late piece is a habit of them */
    c->policy.quick_turns = LOAD(&f->forks) == fork_generation ? (uint8_t)LOAD(&f->quick_turns) : 0;
    c->policy.ill = c->policy.taught = true;
}

void kin_teach(const struct conn *c) {
    const struct policy *p = &c->policy;
    if (!kin_is_due(c) || !(p->fallen || (p->ill && p->input_ever)))
        return;
    struct family *f = &families[c->kin];
    uint64_t model[2];
    memcpy(model, &p->model, sizeof(model));
    STORE(&f->model[0], model[0]);
    STORE(&f->model[1], model[1]);
    STORE(&f->quick_turns, p->quick_turns);
    STORE(&f->forks, (uint16_t)fork_generation);
    STORE(&f->taught, !p->fallen);
}

void kin_forbid(uint8_t kin) {
    if (kin)
        STORE(&kin_forbidden[kin], true);
}
