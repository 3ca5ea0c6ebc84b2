/* SPDX-License-Identifier: MIT
 *
 * Callers whose stack pointer is no multiple of 16, as hand-written assembly and some just-in-time compilers
 * leave it: libc's calls bear it.
 */
#include "same.h"

#ifdef __x86_64__
/* Below the red zone. */
static long call(void *function, long a, const void *b, long c, long d) {
    register long fourth __asm__("rcx") = d, fifth __asm__("r8") = 0, sixth __asm__("r9") = 0;
    long result;
    __asm__ volatile("mov %%rsp, %%rbx\n\tand $-16, %%rsp\n\tsub $136, %%rsp\n\t"
                     "call *%%rax\n\tmov %%rbx, %%rsp"
                     : "=a"(result), "+D"(a), "+S"(b), "+d"(c), "+r"(fourth), "+r"(fifth), "+r"(sixth)
                     : "a"(function)
                     : "rbx", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
    return result;
}

#define CALL(name, ...) SAY(call((void *)(uintptr_t)name, __VA_ARGS__))

CASE(writes) {
    for (int i = 0; i < 4; i++) {
        CALL(write, fd, "abcde", 5, 0);
        CALL(send, fd, "fghij", 5, MSG_NOSIGNAL);
        CALL(recv, fd, (char[8]){0}, 8, MSG_DONTWAIT);
    }
}

CASE(vectors) {
    struct iovec parts[] = {{"abcde", 5}, {"fghij", 5}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    for (int i = 0; i < 4; i++) {
        CALL(writev, fd, parts, 2, 0);
        CALL(sendmsg, fd, &message, 0, 0);
        CALL(recvmsg, fd, &message, MSG_DONTWAIT, 0);
    }
}

CASE(waits_and_the_end) {
    struct pollfd poll_for = {.fd = fd, .events = POLLOUT};
    CALL(write, fd, "abcde", 5, 0);
    CALL(write, fd, "fghij", 5, 0);
    CALL(poll, (long)&poll_for, (void *)1, 0, 0);
    CALL(dup, fd, NULL, 0, 0);
    CALL(shutdown, fd, (void *)(long)SHUT_WR, 0, 0);
    CALL(close, fd, NULL, 0, 0);
}
#else
CASE(no_such_processor) {
    SAY(fd >= 0);
}
#endif
