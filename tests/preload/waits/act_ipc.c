/* SPDX-License-Identifier: MIT
 *
 * Waits for a lock, for System V and for POSIX messages and semaphores.
 */
#include "acts.h"

#include <mqueue.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>

/* <fcntl.h> may turn one of these names into another */
extern int plain_fcntl(int, int, ...) SYMBOL("fcntl");
extern int wide_fcntl(int, int, ...) SYMBOL("fcntl64");
extern int other_fcntl(int, int, ...) SYMBOL("__fcntl");
extern int plain_lockf(int, int, off_t) SYMBOL("lockf");
extern int wide_lockf(int, int, off64_t) SYMBOL("lockf64");

static int locked;

static void lock(void) {
    struct flock whole = {.l_type = F_WRLCK};
    if (fcntl(locked, F_SETLK, &whole) < 0)
        fail("F_SETLK");
}

static void file_locked_by_a_child(void) {
    locked = scratch_file();
    child_for_a_while(lock, NULL);
}

/* flock belongs to the open file, not to the process */
static void file_flocked(void) {
    char path[64];
    int file = scratch_file();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    locked = open(path, O_RDWR | O_CLOEXEC);
    if (locked < 0 || flock(file, LOCK_EX) < 0)
        fail("flock");
}

#define WHOLE (&(struct flock){.l_type = F_WRLCK})

ACT(flock, file_flocked, ALARM, flock(locked, LOCK_EX))
ACT_AS(by_flock, "syscall SYS_flock", file_flocked, ALARM, syscall(SYS_flock, locked, LOCK_EX))
ACT(lockf, file_locked_by_a_child, ALARM, plain_lockf(locked, F_LOCK, 0))
ACT(lockf64, file_locked_by_a_child, ALARM, wide_lockf(locked, F_LOCK, 0))
ACT(fcntl, file_locked_by_a_child, ALARM, plain_fcntl(locked, F_SETLKW, WHOLE))
ACT(fcntl64, file_locked_by_a_child, ALARM, wide_fcntl(locked, F_SETLKW, WHOLE))
ACT(__fcntl, file_locked_by_a_child, ALARM, other_fcntl(locked, F_SETLKW, WHOLE))
ACT_AS(fcntl_of_header, "fcntl of the header", file_locked_by_a_child, ALARM, fcntl(locked, F_SETLKW, WHOLE))
ACT_AS(fcntl_ofd, "fcntl F_OFD_SETLKW", file_locked_by_a_child, ALARM,
       plain_fcntl(locked, F_OFD_SETLKW, WHOLE))

ACT_AS(by_fcntl, "syscall SYS_fcntl F_SETLKW", file_locked_by_a_child, ALARM,
       syscall(SYS_fcntl, locked, F_SETLKW, WHOLE))

/* System V: a child takes the queue away in the end, also if we are killed */
static int messages = -1;
static int semaphores = -1;
static struct {
    long type;
    char text[1024];
} message = {.type = 1};

static void take_away(void) {
    if (messages >= 0)
        msgctl(messages, IPC_RMID, NULL);
    if (semaphores >= 0)
        semctl(semaphores, 0, IPC_RMID);
}

static void empty_message_queue(void) {
    messages = msgget(IPC_PRIVATE, 0600);
    if (messages < 0)
        fail("msgget");
    child_for_a_while(NULL, take_away);
}

static void full_message_queue(void) {
    empty_message_queue();
    while (msgsnd(messages, &message, sizeof message.text, IPC_NOWAIT) == 0)
        ;
}

static void closed_semaphore(void) {
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (semaphores < 0)
        fail("semget");
    child_for_a_while(NULL, take_away);
}

static const struct timespec span = {.tv_nsec = WAIT_MS * 1000000};
#define DOWN (&(struct sembuf){.sem_op = -1})

ACT(msgsnd, full_message_queue, 0, msgsnd(messages, &message, sizeof message.text, 0))
ACT(msgrcv, empty_message_queue, 0, msgrcv(messages, &message, sizeof message.text, 0, 0))
ACT_AS(by_msgrcv, "syscall SYS_msgrcv", empty_message_queue, 0,
       syscall(SYS_msgrcv, messages, &message, sizeof message.text, 0L, 0))
#ifdef SYS_ipc
ACT_AS(by_ipc, "syscall SYS_ipc MSGRCV", empty_message_queue, 0,
       syscall(SYS_ipc, 12 /* MSGRCV, as of version 1 */ | 1 << 16, messages, sizeof message.text, 0,
               &message, 0L))
#endif
ACT(semop, closed_semaphore, 0, semop(semaphores, DOWN, 1))
ACT(semtimedop, closed_semaphore, 0, semtimedop(semaphores, DOWN, 1, &span))

/* POSIX */
static mqd_t queue;

static void empty_queue(void) {
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 16};
    snprintf(name, sizeof name, "/unstall-test-%d", (int)getpid());
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (queue == (mqd_t)-1)
        fail("mq_open");
    mq_unlink(name);
}

static void full_queue(void) {
    empty_queue();
    if (mq_send(queue, "m", 1, 0) < 0)
        fail("mq_send");
}

static char letter[16];
#define DEADLINE (&(struct timespec[]){after_ms(CLOCK_REALTIME, WAIT_MS)}[0])

ACT(mq_send, full_queue, ALARM, mq_send(queue, "m", 1, 0))
ACT(mq_receive, empty_queue, ALARM, mq_receive(queue, letter, sizeof letter, NULL))
ACT(mq_timedsend, full_queue, 0, mq_timedsend(queue, "m", 1, 0, DEADLINE))
ACT(mq_timedreceive, empty_queue, 0, mq_timedreceive(queue, letter, sizeof letter, NULL, DEADLINE))
ACT_AS(by_mq_timedreceive, "syscall SYS_mq_timedreceive", empty_queue, 0,
       syscall(SYS_mq_timedreceive, queue, letter, sizeof letter, NULL, DEADLINE))
