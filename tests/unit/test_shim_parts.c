/* SPDX-License-Identifier: MIT
 *
 * The parts of the write path: the forms of a write, and which memory is known to be readable; calls during
 * which another thread closes the connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>

#include "coalesce_buffer.h"
#include "config.h"
#include "readable.h"
#include "reentry.h"
#include "shim.h"
#include "whole.h"

enum { PAGE = 4096 };

static void *pages(int protection) {
    void *at = mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(at != MAP_FAILED);
    return at;
}

/* ---- memory that is surely there ---------------------------------------- */

enum place { OURS, MAPPED, UNREADABLE };

static void *in_place(enum place place, const void *what, size_t bytes) {
    static char data[256];
    char *at = place == OURS ? data : pages(PROT_READ | PROT_WRITE);
    memcpy(at, what, bytes);
    if (place == UNREADABLE)
        mprotect(at, PAGE, PROT_NONE);
    return at;
}

static const struct {
    const char *name;
    enum out_form form;
    enum place message, vector;
    size_t count;
    bool there;
} places[] = {
    {"write", FORM_WRITE, OURS, UNREADABLE, 1, true},
    {"send", FORM_SEND, OURS, UNREADABLE, 1, true},
    {"sendto", FORM_SENDTO, OURS, UNREADABLE, 1, true},
    {"writev", FORM_WRITEV, OURS, OURS, 2, true},
    {"writev, mapped", FORM_WRITEV, OURS, MAPPED, 2, false},
    {"writev, unreadable", FORM_WRITEV, OURS, UNREADABLE, 2, false},
    {"writev of too many", FORM_WRITEV, OURS, OURS, IOV_MAX + 1, false},
    {"writev of less than none", FORM_WRITEV, OURS, OURS, (size_t)-1, false},
    {"pwritev2", FORM_PWRITEV2, OURS, OURS, 2, true},
    {"pwritev2, mapped", FORM_PWRITEV2, OURS, MAPPED, 2, false},
    {"sendmsg", FORM_SENDMSG, OURS, OURS, 2, true},
    {"sendmsg, the message mapped", FORM_SENDMSG, MAPPED, OURS, 2, false},
    {"sendmsg, the message unreadable", FORM_SENDMSG, UNREADABLE, OURS, 2, false},
    {"sendmsg, the vector mapped", FORM_SENDMSG, OURS, MAPPED, 2, false},
    {"sendmsg of too many", FORM_SENDMSG, OURS, OURS, IOV_MAX + 1, false},
};

Test(shim_parts, what_is_surely_there) {
    static char bytes[PAGE * 8]; /* a vector of IOV_MAX + 1 fits into the data of this program */
    whole_start_in(MODE_AUTO);
    EACH_ROW(row, places) {
        const struct iovec parts[2] = {{bytes, 3}, {bytes, 4}};
        static struct iovec vector_here[IOV_MAX + 1];
        struct iovec *vector = vector_here;
        if (row->vector == OURS)
            memcpy(vector_here, parts, sizeof(parts));
        else
            vector = in_place(row->vector, parts, sizeof(parts));
        struct msghdr message = {.msg_iov = vector, .msg_iovlen = row->count};
        struct write_request o = {.fd = 5, .form = row->form, .buffer = bytes, .bytes = 3};
        if (row->form == FORM_SENDMSG)
            o.message = in_place(row->message, &message, sizeof(message));
        else
            o.iov = vector, o.iov_count = (int)row->count;
        EXPECT_INT(row->name, shim_surely_there(&o), row->there);
        if (row->message == UNREADABLE || row->vector == UNREADABLE)
            continue;
        struct parts p;
        shim_parts_of(&o, &p);
        bool vectors = row->form == FORM_WRITEV || row->form == FORM_PWRITEV2 || row->form == FORM_SENDMSG;
        EXPECT_INT(row->name, p.valid, row->count <= IOV_MAX);
        if (p.valid)
            EXPECT_INT(row->name, p.bytes, vectors ? 7 : 3);
    }
}

Test(shim_parts, a_vector_of_as_many_as_there_may_be) {
    static struct iovec many[IOV_MAX];
    whole_start_in(MODE_AUTO);
    for (size_t i = 0; i < IOV_MAX; i++)
        many[i] = (struct iovec){(char[]){"x"}, 1};
    struct write_request o = {.fd = 5, .form = FORM_WRITEV, .iov = many, .iov_count = IOV_MAX};
    struct parts p;
    shim_parts_of(&o, &p);
    EXPECT(p.valid && shim_surely_there(&o));
    EXPECT_INT("bytes", p.bytes, IOV_MAX);
    many[0].iov_len = SSIZE_MAX;
    shim_parts_of(&o, &p);
    cr_expect(!p.valid, "more than a call can return");
    many[0].iov_len = SSIZE_MAX - (IOV_MAX - 1);
    shim_parts_of(&o, &p);
    cr_expect(p.valid, "as much as a call can return");
}

Test(shim_parts, how_many_bytes_one_call_may_have) {
    whole_start_in(MODE_AUTO);
    struct write_request o = {.fd = 5, .form = FORM_WRITE, .buffer = "x", .bytes = SSIZE_MAX};
    struct parts p;
    shim_parts_of(&o, &p);
    EXPECT(p.valid && p.count == 1 && p.iov == &p.one && p.one.iov_base == o.buffer);
    o.bytes++;
    shim_parts_of(&o, &p);
    EXPECT(!p.valid);
}

Test(shim_parts, what_must_not_be_delayed) {
    struct msghdr named = {.msg_name = &named}, carries = {.msg_controllen = 1}, plain = {0};
    const struct {
        const char *name;
        struct write_request o;
        bool special;
    } rows[] = {
        {"nothing", {.flags = MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE}, false},
        {"MSG_OOB", {.flags = MSG_OOB}, true},
        {"MSG_ZEROCOPY", {.flags = MSG_ZEROCOPY}, true},
        {"MSG_FASTOPEN", {.flags = MSG_FASTOPEN}, true},
        {"MSG_EOR", {.flags = MSG_EOR}, true},
        {"MSG_CONFIRM", {.flags = MSG_CONFIRM}, true},
        {"an address", {.address = (const struct sockaddr *)&plain}, true},
        {"a message", {.message = &plain}, false},
        {"a message to a name", {.message = &named}, true},
        {"a message that carries something", {.message = &carries}, true},
    };
    EACH_ROW(row, rows)
        EXPECT_INT(row->name, shim_special(&row->o), row->special);
}

/* ---- calls that must not wait ----------------------------------------------------- */

static int answer_of_flags;

static int status_flags(int fd) {
    EXPECT_INT("fd", fd, 5);
    return answer_of_flags;
}

Test(shim_parts, who_must_not_wait) {
    static struct kernel_ops own;
    static const struct {
        const char *name;
        int flags, answer;
        bool non_blocking;
    } rows[] = {
        {"it may wait", 0, O_RDWR, false},
        {"the descriptor must not", 0, O_RDWR | O_NONBLOCK, true},
        {"this call must not", MSG_DONTWAIT, O_RDWR, true},
        {"this call must not, with other flags", MSG_DONTWAIT | MSG_NOSIGNAL, O_RDWR, true},
        {"other flags say nothing", MSG_NOSIGNAL | MSG_MORE, O_RDWR, false},
        {"no answer", 0, -EBADF, false},
    };
    whole_start_in(MODE_COALESCE);
    own = *kernel;
    own.status_flags = status_flags;
    kernel = &own;
    EACH_ROW(row, rows) {
        answer_of_flags = row->answer;
        EXPECT_INT(row->name, shim_non_blocking(&(struct write_request){.fd = 5, .flags = row->flags}),
                   row->non_blocking);
    }
}

/* ---- cancellation ------------------------------------------------------------ */

static bool has_returned;

static void *writes_while_cancelled(void *raw) {
    struct write_request o = {.fd = 5, .form = FORM_WRITE, .buffer = "abc", .bytes = 3, .raw = raw != NULL};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    if (raw)
        shim_write(&o);
    else
        shim_write_fast(5, "abc", 3, 0, FORM_WRITE, 0);
    has_returned = true;
    return NULL;
}

/* A write that may be buffered is a cancellation point as the kernel's would be; a call by syscall(2) is
 * none.  In other modes libc's own write is the point, which is a fake here. */
Test(shim_parts, which_writes_are_cancellation_points) {
    for (int coalesce = 0; coalesce < 2; coalesce++)
        for (int raw = 0; raw < 2; raw++) {
            pthread_t of;
            whole_start_in(coalesce ? MODE_COALESCE : MODE_CORK);
            whole_connected(5);
            has_returned = false;
            ASSERT(pthread_create(&of, NULL, writes_while_cancelled, raw ? &of : NULL) == 0);
            pthread_join(of, NULL);
            EXPECT_INT("returned", has_returned, !coalesce || raw);
            EXPECT(conn_trylock(fds_conn(fds_word(5))));
            conn_unlock(fds_conn(fds_word(5)));
            shim_closing(5);
        }
}

/* ---- a connection that goes during the call ----------------------------- */

static bool by_another;

static void goes_away(void) {
    shim_closing(5);
    self.turn = NULL; /* another thread has closed it */
    if (by_another)
        ASSERT(whole_connected(6)); /* in the same place of the pool */
}

static ssize_t plain_write(void) {
    return whole_write(5, "abc");
}
static ssize_t vector_write(void) {
    struct iovec parts[] = {{(char[]){"a"}, 1}, {(char[]){"bc"}, 2}};
    return shim_write(&(struct write_request){.fd = 5, .form = FORM_WRITEV, .iov = parts, .iov_count = 2});
}

static const struct {
    const char *name;
    ssize_t answer, result;
} answers[] = {{"all", 0, 3}, {"a part", 2, 2}, {"no room", -EAGAIN, -1}, {"a reset", -ECONNRESET, -1}};

static void expect_untouched(const char *name, const struct conn *c) {
    EXPECT_INT(name, self.depth, 0);
    EXPECT_INT(name, fds_word(5), FDS_UNKNOWN);
    EXPECT(!self.turn && !self.locked);
    EXPECT_INT(name, LOAD(&c->lock) & 3, 0);
    EXPECT_INT(name, c->refs, by_another);
    EXPECT_INT(name, c->counts.writes, 0);
    EXPECT_INT(name, c->counts.bytes, 0);
    EXPECT(!c->held && !c->buffer && !c->policy.refuses && !c->policy.sndbuf_maybe_full);
    EXPECT(!by_another || c->policy.established);
    EXPECT(!c->turn_owner || !by_another);
}

/* `way` 0: the fast path. */
static void closed_during_a_write(enum mode mode, unsigned way, size_t row) {
    whole_start_in(mode);
    const struct conn *c = whole_connected(5);
    fake_real.answers[0] = answers[row].answer;
    fake_real.meanwhile = goes_away;
    errno = 4711;
    EXPECT_INT(answers[row].name, way ? vector_write() : plain_write(), answers[row].result);
    EXPECT_INT(answers[row].name, errno, answers[row].answer < 0 ? -answers[row].answer : 4711);
    expect_untouched(answers[row].name, c);
    shim_closing(6);
}

Test(shim_parts, a_connection_that_is_closed_during_a_write) {
    static const enum mode modes[] = {MODE_OFF, MODE_OBSERVE, MODE_NODELAY, MODE_CORK};
    for (unsigned i = 0; i < ARRAY_SIZE(modes) * 4; i++)
        for (size_t row = 0; row < ARRAY_SIZE(answers); row++) {
            by_another = i & 1;
            /* a mode that does not cure counts the sent bytes, also if the number has a new socket by then */
            if (mode_cures(modes[i / 4]) || answers[row].answer < 0)
                closed_during_a_write(modes[i / 4], i / 2 % 2, row);
        }
}

/* ---- a handler's several messages --------------------------------------- */

static struct conn *with_a_lock(void) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    ASSERT(conn_lock(c));
    in_handler();
    return c;
}

Test(shim_parts, a_handlers_messages) {
    struct iovec parts[] = {{(char[]){"ab"}, 2}, {(char[]){"cde"}, 3}};
    struct mmsghdr messages[] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                                 {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
    struct conn *c = with_a_lock();
    EXPECT_INT("both", reentry_messages(5, messages, 2, 0), 2);
    EXPECT_INT("two bytes", messages[0].msg_len, 2);
    EXPECT_INT("three bytes", messages[1].msg_len, 3);
    EXPECT_INT("none", reentry_messages(5, messages, 0, 0), 0);
    conn_unlock(c);
    EXPECT_TEXT("sent in order", fake.wire_buffer, "abcde");
}

/* Bytes that the kernel took count; the next call gets the error. */
Test(shim_parts, a_handlers_message_that_fails) {
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *next = page + PAGE;
    ASSERT(page != MAP_FAILED && mprotect(next, PAGE, PROT_NONE) == 0);
    struct iovec good = {(char[]){"ab"}, 2}, bad = {next, 2};
    struct mmsghdr *messages = (struct mmsghdr *)(void *)(next - 2 * sizeof(struct mmsghdr));
    messages[0] = (struct mmsghdr){.msg_hdr = {.msg_iov = &good, .msg_iovlen = 1}};
    messages[1] = (struct mmsghdr){.msg_hdr = {.msg_iov = &bad, .msg_iovlen = 1}};
    struct conn *c = with_a_lock();
    EXPECT_INT("the second has no memory", reentry_messages(5, messages, 2, MSG_NOSIGNAL), 1);
    EXPECT_INT("it alone", reentry_messages(5, messages + 1, 1, MSG_NOSIGNAL), -1);
    EXPECT_INT("errno", errno, EFAULT);
    messages[1].msg_hdr.msg_iov = &good;
    EXPECT_INT("the third is no memory", reentry_messages(5, messages, 3, MSG_NOSIGNAL), 2);
    EXPECT_INT("it alone", reentry_messages(5, messages + 2, 1, MSG_NOSIGNAL), -1);
    EXPECT_INT("errno", errno, EFAULT);
    conn_unlock(c);
    EXPECT_TEXT("sent", fake.wire_buffer, "ababab");
}

/* Whether a handler's sendfile has to queue. */
Test(shim_parts, what_stands_before_a_handlers_call) {
    whole_start_in(MODE_COALESCE);
    struct conn *c = whole_warm(5);
    EXPECT(!reentry_stands_behind(5)); /* no handler */
    self.depth = 1;
    in_handler();
    EXPECT(reentry_stands_behind(5) && !reentry_stands_behind(77));
    c->policy.mode = MODE_CORK;
    EXPECT(!reentry_stands_behind(5)); /* nothing is ever buffered */
    struct piece *piece = pages(PROT_READ | PROT_WRITE);
    c->aside = (uintptr_t)piece;
    EXPECT(reentry_stands_behind(5)); /* from before the mode changed */
    c->aside = 0;
    self.depth = 0;
    c->policy.mode = MODE_COALESCE;
    reentry_drains(c);
    EXPECT(reentry_stands_behind(5));
    reentry_drains(whole_connected(6));
    EXPECT(!reentry_stands_behind(5)); /* another's bytes are on the way */
    reentry_drains(NULL);
    self.vforked = true;
    EXPECT(!reentry_stands_behind(5)); /* the child */
    self.vforked = false;
    EXPECT_INT("depth", self.depth, 0);
}

/* ---- descriptors in messages of which the memory is not there ----------- */

Test(shim_parts, a_control_message_that_is_not_there) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    struct msghdr message = {.msg_control = pages(PROT_NONE), .msg_controllen = PAGE};
    shim_descriptors_leave(&message);
    message.msg_control = NULL;
    shim_descriptors_leave(&message);
    shim_descriptors_leave(pages(PROT_NONE));
    EXPECT(c->held && !c->passed);
    EXPECT_INT("depth", self.depth, 0);
}

/* The first ones are looked at, although the last one is not there; a control message beside bad ones
 * leaves. */
Test(shim_parts, of_many_messages_those_that_are_there) {
    whole_start_in(MODE_CORK);
    struct conn *c = whole_connected(5);
    whole_write(5, "abc");
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.head), &(int){5}, sizeof(int));
    char *both = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT(both != MAP_FAILED && mprotect(both + PAGE, PAGE, PROT_NONE) == 0);
    char *end = both + PAGE;
    struct mmsghdr *messages = (struct mmsghdr *)(void *)end - 2;
    messages[0].msg_hdr = (struct msghdr){.msg_control = end, .msg_controllen = sizeof(control)};
    messages[1].msg_hdr = (struct msghdr){.msg_control = &control, .msg_controllen = sizeof(control)};
    shim_messages_leave(messages, 1);
    EXPECT(!c->passed);
    shim_messages_leave(messages, 3);
    EXPECT(c->passed && !c->held);
    shim_messages_leave(messages + 2, UINT32_MAX);
    EXPECT_INT("depth", self.depth, 0);
}

/* A message that the kernel refuses is not passed on; the call comes before any option is set. */
Test(shim_parts, descriptors_of_a_message_that_is_refused) {
    for (int acted = 0; acted < 2; acted++)
        for (int refused = 0; refused < 2; refused++) {
            _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = "";
            struct iovec part = {(char[]){"x"}, 1};
            struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1,
                                     .msg_control = control, .msg_controllen = sizeof(control)};
            struct cmsghdr *h = CMSG_FIRSTHDR(&message);
            whole_start_in(MODE_NODELAY);
            const struct conn *c = whole_connected(5);
            *h = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(h), &(int){5}, sizeof(int));
            hold_acted = acted;
            fake_real.answers[0] = refused ? -EPERM : 0;
            shim_write_message(&(struct write_request){.fd = 9, .form = FORM_SENDMSG, .message = &message});
            EXPECT_INT("passed", c->passed, acted || !refused);
            shim_closing(5);
        }
}
