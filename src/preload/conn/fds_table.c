/* SPDX-License-Identifier: MIT */
#include "fds.h"

#include "config.h"
#include "raw.h"

/* Every process uses the lowest descriptors: their page needs no mapping. */
uintptr_t fds_first[FDS_PAGE];
uintptr_t *fds_pages[FDS_PAGES];

static int high;

/* The page of fd, mapped on demand; NULL: no memory, or no system call allowed. */
static uintptr_t *page_of(int fd) {
    if (LIKELY(fds_is_low(fd)))
        return fds_first;
    uintptr_t **slot = &fds_pages[(unsigned)fd / FDS_PAGE];
    uintptr_t *page = LOAD_ACQUIRE(slot);
    if (LIKELY(page != NULL))
        return page;
    uintptr_t *fresh = config()->no_syscalls ? NULL : raw_map(FDS_PAGE * sizeof(*page));
    if (!fresh)
        return NULL;
    if (__atomic_compare_exchange_n(slot, &page, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return fresh;
    raw_unmap(fresh, FDS_PAGE * sizeof(*page));
    return page;
}

static void seen_up_to(int fd) {
    int seen = LOAD(&high);
    while (fd >= seen && !REPLACE(&high, &seen, fd + 1, __ATOMIC_RELAXED))
        ;
}

bool fds_set(int fd, uintptr_t word) {
    if ((unsigned)fd >= FDS_LIMIT)
        return false;
    if (word == FDS_UNKNOWN && !fds_is_low(fd) && !LOAD_ACQUIRE(&fds_pages[(unsigned)fd / FDS_PAGE]))
        return true;
    uintptr_t *page = page_of(fd);
    if (!page)
        return false;
    STORE_RELEASE(&page[(unsigned)fd % FDS_PAGE], word);
    seen_up_to(fd);
    return true;
}

bool fds_set_first(int fd, uintptr_t word) {
    uintptr_t *page = page_of(fd), none = FDS_UNKNOWN;
    if (!page || !REPLACE(&page[(unsigned)fd % FDS_PAGE], &none, word, __ATOMIC_ACQ_REL))
        return false;
    seen_up_to(fd);
    return true;
}

uintptr_t fds_take(int fd) {
    if (fds_word(fd) == FDS_UNKNOWN || (unsigned)fd >= FDS_LIMIT)
        return FDS_UNKNOWN;
    return __atomic_exchange_n(&page_of(fd)[(unsigned)fd % FDS_PAGE], FDS_UNKNOWN, __ATOMIC_ACQ_REL);
}

int fds_high(void) {
    return LOAD(&high);
}
