/* SPDX-License-Identifier: MIT
 *
 * Around a change of the caller's rights: held bytes leave and the thread ends, for which calls.
 */
#include <dirent.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/prctl.h>

#include "fds.h"
#include "turn.h"
#include "process.h"
#include "statistics.h"
#include "window.h"

static const struct {
    const char *name;
    long number;
    unsigned long first;
    bool changes;
} calls[] = {
    {"setuid", SYS_setuid, 0, true},
    {"capset", SYS_capset, 0, true},
    {"unshare", SYS_unshare, CLONE_NEWNS, true},
    {"no_new_privs", SYS_prctl, PR_SET_NO_NEW_PRIVS, true},
    {"a bound", SYS_prctl, PR_CAPBSET_DROP, true},
    {"an ambient capability", SYS_prctl, PR_CAP_AMBIENT, true},
    {"securebits", SYS_prctl, PR_SET_SECUREBITS, true},
    {"keepcaps", SYS_prctl, PR_SET_KEEPCAPS, true},
    {"a name", SYS_prctl, PR_SET_NAME, false},
    {"a question", SYS_prctl, PR_GET_KEEPCAPS, false},
    {"a session", SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, true},
    {"a default", SYS_keyctl, KEYCTL_SET_REQKEY_KEYRING, true},
    {"an authority", SYS_keyctl, KEYCTL_ASSUME_AUTHORITY, true},
    {"a key", SYS_keyctl, KEYCTL_READ, false},
    {"the option of another call", SYS_getpriority, PR_SET_KEEPCAPS, false},
};

Test(rights, calls_that_change_them) {
    EACH_ROW(row, calls) {
        whole_start_in(MODE_CORK);
        window_now = WINDOW_WITHOUT;
        struct conn *c = whole_connected(5);
        whole_write(5, "abc");
        ASSERT(c->held);
        uint32_t barred = rights_change(row->number, row->first);
        EXPECT_INT(row->name, barred != 0, row->changes);
        EXPECT_INT(row->name, c->held, !row->changes);
        rights_changed(barred);
        shim_closing(5);
    }
}

/* The thread ends, so bytes that another thread of the program holds would stay. */
Test(rights, holds_of_other_threads_leave) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    self.turn = NULL; /* another thread's */
    ASSERT(c->held);
    rights_changed(rights_change(SYS_capset, 0));
    EXPECT(!c->held);
    EXPECT_INT("state", window_state(), WINDOW_NONE);
}

Test(rights, the_thread_starts_again_afterwards, .timeout = 10) {
    whole_start((const char *const[]){"UNSTALL_MODE=cork", "UNSTALL_THREAD=always", NULL});
    window_now = WINDOW_NONE;
    uint32_t barred = rights_change(SYS_capset, 0);
    window_decide(false, 1);
    EXPECT_INT("not meanwhile", window_state(), WINDOW_NONE);
    rights_changed(barred);
    bool runs = false;
    for (int i = 0; i < 10 && !runs; i++) { /* after 100 ms it ends by itself */
        window_decide(false, 1);
        runs = window_state() == WINDOW_RUNS;
    }
    EXPECT(runs);
    window_stop();
}

static long task_of_the_thread(void) {
    long found = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;)
        if (window_is_task(atol(entry->d_name)))
            found = atol(entry->d_name);
    if (folder)
        closedir(folder);
    return found;
}

/* As libpsx sends one to each task. */
Test(rights, a_signal_to_the_thread_ends_it, .timeout = 10) {
    whole_start((const char *const[]){"UNSTALL_MODE=cork", "UNSTALL_THREAD=always", NULL});
    window_now = WINDOW_NONE;
    uint32_t barred = 0;
    for (int i = 0; i < 10 && !barred; i++) { /* after 100 ms it ends by itself */
        window_decide(false, 1);
        long task = task_of_the_thread();
        EXPECT_INT("to another", rights_signal(getpid()), 0);
        if (window_state() == WINDOW_RUNS) /* else it does not stay, or has left */
            barred = rights_signal(task);
    }
    ASSERT(barred != 0);
    EXPECT_INT("it has ended", window_state(), WINDOW_NONE);
    rights_changed(barred);
}

/* A descriptor table of its own: `off` has no reason to stay. */
Test(rights, a_table_of_its_own) {
    whole_start_in(MODE_OFF);
    rights_changed(rights_change(SYS_unshare, CLONE_NEWNS));
    EXPECT(gate_enter());
    rights_changed(rights_change(SYS_setns, CLONE_FILES));
    EXPECT(gate_enter());
    rights_change(SYS_unshare, CLONE_FILES);
    EXPECT(!gate_enter());
}

/* ---- statistics -------------------------------------------------------------- */

Test(rights, no_file_that_nobody_wants) {
    whole_start_in(MODE_OFF);
    conn_unlock(fds_create(5, ORIGIN_SOCKET));
    rights_change(SYS_setuid, 0);
    EXPECT_INT("state", stats_state, LIFE_NONE);
}

/* Afterwards the directory may be another user's. */
Test(rights, another_user_gets_its_file_before, .fini = statistics_end) {
    statistics_start("off", NULL, NULL);
    rights_change(SYS_setuid, 0);
    EXPECT_INT("no TCP", stats_state, LIFE_NONE);
    conn_unlock(fds_create(5, ORIGIN_SOCKET));
    rights_change(SYS_setgid, 0);
    EXPECT_INT("the same user", stats_state, LIFE_NONE);
    rights_change(SYS_setuid, 0);
    EXPECT_INT("made", stats_state, LIFE_THERE);
    statistics_end();
    stats_file_forked();
    shim_closing(5);
    mkdir(statistics_folder, 0700);
    rights_change(SYS_setuid, 0);
    EXPECT_INT("of a child, whose parent has used TCP", stats_state, LIFE_THERE);
}
