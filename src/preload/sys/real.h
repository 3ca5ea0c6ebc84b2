/* SPDX-License-Identifier: MIT
 *
 * The next definition of each name of the surface, after ours in the search order: in
 * libc, or in another preloaded library.
 */
#ifndef UNSTALL_REAL_H
#define UNSTALL_REAL_H

/* libc's headers for the names of the surface.  For a name that they lack (a double-underscore form, one of a
 * newer libc) our definition is its declaration. */
#include <aio.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/fsuid.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wordexp.h>

#include "base.h"

/* There are names with 64-bit times, too (_TIME_BITS=64); all other names have 32-bit times. */
#if __SIZEOF_POINTER__ == 4
#define WITH_TIME64

struct timespec64 {
    int64_t tv_sec;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    int32_t : 32;
    int32_t tv_nsec;
#else
    int32_t tv_nsec;
    int32_t : 32;
#endif
};

struct timeval64 {
    int64_t tv_sec, tv_usec;
};
#endif

#define ROW(name, need, family, role)         extern INTERNAL void *real_##name;
#define VERSION(older, name, version, newest) extern INTERNAL void *real_##older;
#include "surface.def"

/* The needs of surface.def. */
enum need { NEED_required, NEED_optional, NEED_numbered, NEED_thrd, NEED_wide, NEED_own };

/* Looks up the names that cannot wait for their first call.  False when a required one is missing. */
bool real_resolve(void);

/* At the first call of a name. */
void *real_find(void **slot, const char *name);

/* What a call of `name`, whose next definition belongs in `slot`, does where this libc lacks it. */
void *real_absent(void **slot, const char *name);

/* The next `name`, with its own type. */
#define REAL(name)                                                                           \
    __extension__({                                                                          \
        void *next_ = LOAD(&real_##name);                                                    \
        (__typeof__(&name))(LIKELY(next_ != NULL) ? next_ : real_find(&real_##name, #name)); \
    })

/* The same for the shortest paths: NULL if it has not been looked up yet.  Once the gate is open, write,
 * send, read, recv, sendto and sendmsg have been (real_resolve). */
#define REAL_FOUND(name) ((__typeof__(&name))LOAD(&real_##name))

/* ---- the address of a name in libc, read from libc's own symbol table (libc_symbols.c) ----------
 *
 * dlsym(RTLD_NEXT) costs about 1000 instructions a name, and takes the dynamic linker's lock, so it must not
 * run at the first call of a name, which may be in a signal handler or in a child of fork(2)
 * (docs/decisions.md).  These functions only read memory that never changes.  They answer only if dlsym would
 * surely give the same answer: no library between us and libc has the name, and libc defines it as a plain
 * function.  In every other case the result is NULL, and the caller asks dlsym. */

enum { LIBC_SYMBOLS_LIBRARIES = 24 };

struct symbol_table {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint16_t *versions; /* of each symbol; NULL: this library has none */
    const char *version_names; /* ElfW(Verdef), of different sizes */
    size_t version_count;
    const ElfW(Addr) * bloom;
    const uint32_t *buckets, *chains;
    uint32_t bucket_count, first_symbol, bloom_words, bloom_shift;
};

/* The libraries behind us in the search order, as far as libc, which is the last. */
struct libc_symbols {
    struct symbol_table libraries[LIBC_SYMBOLS_LIBRARIES];
    size_t count; /* 0: nothing is known; it is written last */
};

void libc_symbols_open(struct libc_symbols *s);

/* True: a library between us and libc has the name. */
bool libc_symbols_elsewhere(const struct libc_symbols *s, const char *name);

/* The default definition of `name`, or that of `version`.  NULL: ask dlsym(3) or dlvsym(3). */
void *libc_symbols_find(const struct libc_symbols *s, const char *name, const char *version);

#endif
