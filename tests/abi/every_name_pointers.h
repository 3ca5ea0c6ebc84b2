/* SPDX-License-Identifier: MIT
 *
 * The situation `pointers` of every_name.c: each pointer of each name leads to a page that cannot be read.
 */

/* A child that ended by a signal has left its piece behind: pushes and reads it, so that the next child
 * begins alike. */
static void take_what_is_left(void) {
    char taken[64];
    int one = 1, before = raw_option(near_end, IPPROTO_TCP, TCP_NODELAY);
    if (near_end < 0) return;
    raw_call(SYS_setsockopt, near_end, IPPROTO_TCP, TCP_NODELAY, (long)&one, sizeof one);
    raw_call(SYS_setsockopt, near_end, IPPROTO_TCP, TCP_NODELAY, (long)&before, sizeof before);
    while (raw6(SYS_recvfrom, far_end, (long)taken, sizeof taken, MSG_DONTWAIT, 0, 0) > 0)
        ;
    raw_call(SYS_setsockopt, far_end, IPPROTO_TCP, TCP_QUICKACK, (long)&one, sizeof one);
}

static void with_bad_pointer(int at, int which, void *bad) {
    long arguments[6];
    memcpy(arguments, calls[at].arguments, sizeof arguments);
    arguments[which] = (long)bad;
    pid_t child = (pid_t)raw_fork();
    if (child == 0) {
        make_with(at, arguments);
        raw_call(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    show_status(calls[at].name, child);
    take_what_is_left();
}

static void pointers(void) {
    void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    sigprocmask(SIG_BLOCK, &alarm_signal, NULL);
    for (int at = 0; at < CALLS; at++)
        for (int which = 0; calls[at].pointers[which]; which++)
            if (calls[at].pointers[which] == 'p') with_bad_pointer(at, which, page);
}
