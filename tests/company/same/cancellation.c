/* SPDX-License-Identifier: MIT
 *
 * Threads that have been told to end make one call each: a cancellation point ends the thread,
 * the others run on.
 */
#include "same.h"

#include <sys/sendfile.h>

struct told {
    const char *name;
    long (*call)(void);
};

static int connected;

static void *runs(void *argument) {
    const struct told *told = argument;
    pthread_cancel(pthread_self());
    told->call();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return NULL;
}

static void tell(int fd, const char *name, long (*call)(void)) {
    struct told told = {name, call};
    pthread_t thread;
    void *result;
    connected = fd;
    NEED(pthread_create(&thread, NULL, runs, &told) == 0 && pthread_join(thread, &result) == 0);
    say("%s: %s", name, result == PTHREAD_CANCELED ? "cancelled" : "ran on");
}

static char text[8] = "message";
static struct iovec part = {text, 7};
static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
static struct mmsghdr one;

#define CALLS(name, expression)     \
    static long name(void) {        \
        return (long)(expression);  \
    }

static int file(void) {
    static int number;
    if (!number)
        number = high(raw4(SYS_openat, AT_FDCWD, "/proc/self/exe", O_RDONLY, 0));
    return number;
}

static int filled_pipe(void) {
    int ends[2];
    raw2(SYS_pipe2, ends, 0);
    raw3(SYS_write, ends[1], "piped", 5);
    return ends[0];
}

static int pipe_end(void) {
    int ends[2];
    raw2(SYS_pipe2, ends, 0);
    return ends[1];
}

CALLS(write_, write(connected, text, 7))
CALLS(writev_, writev(connected, &part, 1))
CALLS(send_, send(connected, text, 7, 0))
CALLS(sendmsg_, sendmsg(connected, &message, 0))
CALLS(sendmmsg_, sendmmsg(connected, &one, 1, 0))
CALLS(sendfile_, sendfile(connected, file(), NULL, 7))
CALLS(splice_, splice(filled_pipe(), NULL, connected, NULL, 5, 0))
CALLS(recvmsg_, recvmsg(connected, &message, MSG_DONTWAIT))
CALLS(setsockopt_, setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &(int){0}, sizeof(int)))
CALLS(shutdown_, shutdown(connected, SHUT_RD))
CALLS(poll_, poll(NULL, 0, 0))
CALLS(unshare_, unshare(0))
CALLS(sendto_, sendto(connected, text, 7, 0, NULL, 0))
CALLS(recv_, recv(connected, text, 1, MSG_DONTWAIT))
CALLS(select_, select(0, NULL, NULL, NULL, &(struct timeval){0}))
CALLS(nanosleep_, nanosleep(&(struct timespec){0}, NULL))
CALLS(close_, close(9999))
CALLS(accept_, accept(9999, NULL, NULL))
CALLS(fcntl_, fcntl(9999, F_SETLKW, &(struct flock){.l_type = F_UNLCK}))
CALLS(write_to_pipe, write(pipe_end(), text, 7))
CALLS(by_write, syscall(SYS_write, connected, text, 7))
CALLS(by_writev, syscall(SYS_writev, connected, &part, 1))
CALLS(by_sendto, syscall(SYS_sendto, connected, text, 7, 0, NULL, 0))
CALLS(by_sendmsg, syscall(SYS_sendmsg, connected, &message, 0))
CALLS(by_sendmmsg, syscall(SYS_sendmmsg, connected, &one, 1, 0))
CALLS(by_sendfile, syscall(SYS_sendfile, connected, file(), NULL, 7))
CALLS(by_splice, syscall(SYS_splice, filled_pipe(), NULL, connected, NULL, 5, 0))
CALLS(by_recvmsg, syscall(SYS_recvmsg, connected, &message, MSG_DONTWAIT))
CALLS(by_read, syscall(SYS_recvfrom, connected, text, 1, MSG_DONTWAIT, NULL, NULL))
CALLS(by_close, syscall(SYS_close, 199))
CALLS(by_prctl, syscall(SYS_prctl, 0, 0))
CALLS(by_setsockopt, syscall(SYS_setsockopt, connected, IPPROTO_TCP, TCP_NODELAY, &(int){0}, 4))

#define TELL(name) tell(fd, #name, name)

CASE(libcs_names) {
    one.msg_hdr = message;
    TELL(write_);
    TELL(writev_);
    TELL(send_);
    TELL(sendmsg_);
    TELL(sendmmsg_);
    TELL(sendfile_);
    TELL(splice_);
    TELL(recvmsg_);
    TELL(setsockopt_);
    TELL(shutdown_);
    TELL(poll_);
    TELL(write_);
    TELL(sendto_);
    TELL(recv_);
    TELL(select_);
    TELL(nanosleep_);
    TELL(close_);
    TELL(accept_);
    TELL(fcntl_);
    TELL(write_to_pipe);
    TELL(unshare_); /* it ends the thread that bounds what is held */
    TELL(write_);
}

CASE(by_syscall) {
    one.msg_hdr = message;
    TELL(by_write);
    TELL(by_writev);
    TELL(by_sendto);
    TELL(by_sendmsg);
    TELL(by_sendmmsg);
    TELL(by_sendfile);
    TELL(by_splice);
    TELL(by_recvmsg);
    TELL(by_read);
    TELL(by_close);
    TELL(by_prctl);
    TELL(by_setsockopt);
}

/* Buffered bytes stand before them, and there is no room: they block, and are not cancelled. */
static void *takes_later(void *over) {
    struct timespec moment = {.tv_nsec = 50000000};
    raw4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, 0);
    for (int i = 0; i < 200; i++) {
        char sink[65536];
        if (raw6(SYS_recvfrom, peer, (long)sink, sizeof(sink), MSG_DONTWAIT, 0, 0) <= 0)
            raw4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, 0);
        if (__atomic_load_n((int *)over, __ATOMIC_ACQUIRE))
            break;
    }
    return NULL;
}

CASE(blocked_behind_small_writes) {
    static int over;
    pthread_t taker;
    one.msg_hdr = message;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (write(fd, text, 7) > 0 && raw6(SYS_sendto, fd, (long)known, 4096, MSG_DONTWAIT, 0, 0) > 0)
        ;
    fcntl(fd, F_SETFL, 0);
    NEED(pthread_create(&taker, NULL, takes_later, &over) == 0);
    TELL(sendfile_);
    TELL(by_write);
    TELL(by_sendmmsg);
    TELL(by_splice);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    pthread_join(taker, NULL);
    raw1(SYS_exit_group, 0); /* how many bytes filled it is by chance */
}
