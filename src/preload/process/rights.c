/* SPDX-License-Identifier: MIT */
#include "rights.h"

#include <linux/keyctl.h>
#include <sched.h>
#include <sys/prctl.h>

#include "fds.h"
#include "turn.h"
#include "process.h"
#include "stats_file.h"
#include "sweep.h"
#include "window.h"

enum when { other, always, user, options };

static const struct {
    long number;
    enum when what;
} rights[] = {
#define RIGHT(name, what) {SYS_##name, what},
#include "rights.def"
#undef RIGHT
};

static enum when when(long number) {
    for (size_t i = 0; i < ARRAY_SIZE(rights); i++)
        if (rights[i].number == number)
            return rights[i].what;
    return other;
}

/* True for the options of keyctl(2) and prctl(2) that change the caller's rights. */
static bool option_changes(long number, unsigned long option) {
    if (number == SYS_keyctl)
        return option == KEYCTL_JOIN_SESSION_KEYRING || option == KEYCTL_SET_REQKEY_KEYRING ||
               option == KEYCTL_ASSUME_AUTHORITY;
    return option == PR_SET_NO_NEW_PRIVS || option == PR_CAPBSET_DROP || option == PR_CAP_AMBIENT ||
           option == PR_SET_SECUREBITS || option == PR_SET_KEEPCAPS;
}

static uint32_t end_thread(void) {
    if (window_state() == WINDOW_RUNS)
        sweep(PUSH_PROCESS);
    return window_bar(true);
}

uint32_t rights_change(long number, unsigned long first) {
    enum when what = when(number);
    if (what == other || (what == options && !option_changes(number, first)) || !ours())
        return 0;
    hold_end_turn(PUSH_PROCESS);
    /* Afterwards the directory of the statistics may belong to another user.  A process
     * without TCP makes no file. */
    if (what == user && stats_file_wanted() && (stats_ever_made() || fds_any()))
        stats_file_make();
    uint32_t barred = end_thread();
    if (number == SYS_unshare && (first & CLONE_FILES))
        process_unshares_table();
    return barred;
}

uint32_t rights_signal(long task) {
    return window_is_task(task) && ours() ? end_thread() : 0;
}

void rights_changed(uint32_t barred) {
    if (!barred)
        return;
    window_unbar(barred);
    process_goes_on();
}
