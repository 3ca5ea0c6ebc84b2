# SPDX-License-Identifier: MIT
"""The expected outcome of each row of src/preload/sys/surface.def, called with bytes held.

The same in every mode that holds, unless said otherwise: the peer has the bytes at once, although the caller
(or its successor) waits for a third of a second where no window ends it.
"""

import re
from dataclasses import dataclass
from platform import machine

from harness import IS_32, SOURCE_ROOT

SURFACE = SOURCE_ROOT / "src/preload/sys/surface.def"

ALL = ("cork", "coalesce", "auto")
BUFFERED = ("coalesce",)
BUFFERED_FIRST = ("coalesce", "cork", "auto")  # only there the order depends on the row

# How the act behaves without the library.
WAITS = "blocks in itself"
ACTS = "returns at once; the program then sleeps out of sight"
ENDS = "does not return"

# How the peer's bytes (and the trace) are judged.
PROMPT = "the held bytes are there at once"
JOINED = "the held bytes are there at once, in one segment with what was written after them"
FOLLOWED = "the held bytes are there at once, and what was written after them comes after them"
UNASKED = "as followed, and the kernel was never asked what the descriptor is"
SHARED = "as joined, and the kernel was never asked what the descriptor is"
KNOWN = "the held bytes are there at once, and the kernel was never asked what the descriptor is"
CURED = "TCP_NODELAY is on in the kernel, as bytes may pass unseen"
OWN_VALUE = "the application reads back what it has set: nothing"


@dataclass(frozen=True)
class Check:
    """One act, and its expected outcome."""
    act: str
    modes: tuple = ALL
    judge: str = PROMPT


@dataclass(frozen=True)
class Row:
    """A name: how its call behaves, the system call by which it waits or acts (a pattern; empty:
    none that matters), and the checks that fail without it."""
    behaviour: str
    own: str
    checks: tuple


def _rows(behaviour, modes, **own):
    return {name: Row(behaviour, call, (Check(name, modes),)) for name, call in own.items()}


def _writes(**own):
    """They block on another descriptor, and add to the message on the same one."""
    return {name: Row(WAITS, call, (Check(name, ALL),) +
                      (() if name == "eventfd_write" else
                       # a pipe may be empty: nothing is held while splice reads it
                       (Check(f"join by {name}", BUFFERED_FIRST,
                              FOLLOWED if name == "splice" else JOINED),)))
            for name, call in own.items()}


# Performed in a program with one thread, where no window is kept: UNSTALL_THREAD=own.
WINDOWLESS = ("pthread_create", "thrd_create", "clone", "__clone")

ROWS = {
    **_writes(write="write", __write="write", writev="writev", send="sendto", __send="sendto",
              sendto="sendto", sendmsg="sendmsg", sendmmsg="sendmmsg", __sendmmsg="sendmmsg",
              sendfile="sendfile", sendfile64="sendfile", splice="splice", pwritev2="pwritev2",
              pwritev64v2="pwritev2", eventfd_write="write"),
    # reads
    **_rows(WAITS, ALL, read="read", __read="read", __read_chk="read", readv="readv",
            preadv2="preadv2", preadv64v2="preadv2", recv="recvfrom", __recv="recvfrom",
            __recv_chk="recvfrom", recvfrom="recvfrom", __recvfrom_chk="recvfrom",
            recvmsg="recvmsg", recvmmsg="recvmmsg", eventfd_read="read"),
    # waits for descriptors
    **_rows(WAITS, ALL, poll="poll|ppoll", __poll="poll|ppoll", __poll_chk="poll|ppoll",
            ppoll="ppoll", __ppoll_chk="ppoll", select="select|pselect6",
            __select="select|pselect6", pselect="pselect6", epoll_wait="epoll_wait|epoll_pwait",
            epoll_pwait="epoll_pwait", epoll_pwait2="epoll_pwait2"),
    # waits for time, semaphores, threads
    **_rows(WAITS, ALL, sleep="clock_nanosleep", usleep="clock_nanosleep",
            nanosleep="clock_nanosleep", __nanosleep="clock_nanosleep",
            clock_nanosleep="clock_nanosleep", thrd_sleep="clock_nanosleep", sem_wait="futex",
            sem_timedwait="futex", sem_clockwait="futex", pthread_cond_wait="futex",
            pthread_cond_timedwait="futex", pthread_cond_clockwait="futex", cnd_wait="futex",
            cnd_timedwait="futex", pthread_join="futex",
            pthread_timedjoin_np="futex", pthread_clockjoin_np="futex", thrd_join="futex"),
    # waits for children and signals
    **_rows(WAITS, ALL, wait="wait4", __wait="wait4", wait3="wait4", wait4="wait4",
            waitpid="wait4", __waitpid="wait4", waitid="waitid", sigwait="rt_sigtimedwait",
            sigwaitinfo="rt_sigtimedwait", sigtimedwait="rt_sigtimedwait",
            sigsuspend="rt_sigsuspend", __sigsuspend="rt_sigsuspend", sigpause="rt_sigsuspend",
            __sigpause="rt_sigsuspend", __xpg_sigpause="rt_sigsuspend", pause="pause|ppoll"),
    # waits for locks, messages, semaphores
    **_rows(WAITS, ALL, flock="flock", lockf="fcntl", lockf64="fcntl", msgsnd="msgsnd",
            msgrcv="msgrcv", semop="semop|semtimedop", semtimedop="semtimedop",
            mq_send="mq_timedsend", mq_receive="mq_timedreceive", mq_timedsend="mq_timedsend",
            mq_timedreceive="mq_timedreceive", aio_suspend="futex", aio_suspend64="futex"),
    # libc's own threads write there, or read
    **_rows(ACTS, ALL, aio_read="", aio_read64=""),
    # bytes held in the kernel leave with the bytes that libc's own thread writes
    **_rows(ACTS, BUFFERED, aio_write="", aio_write64="", lio_listio="", lio_listio64=""),
    # life of sockets
    **_rows(WAITS, ALL, connect="connect", __connect="connect", accept="accept",
            accept4="accept4"),
    **_rows(ACTS, BUFFERED, shutdown="shutdown"),
    "listen": Row(ACTS, "", (Check("listen", ("nodelay", *ALL), OWN_VALUE),)),
    "socket": Row(WAITS, "poll", (Check("socket", ALL, KNOWN),)),
    "setsockopt": Row(ACTS, "", (Check("setsockopt", ("cork",)),)),
    "getsockopt": Row(ACTS, "poll", (Check("getsockopt", ("cork",), OWN_VALUE),)),
    # life of descriptors
    **_rows(ACTS, BUFFERED, close="close", __close="close", close_range="close_range",
            closefrom="close_range", syscall="close", dup2="dup2|dup3", __dup2="dup2|dup3",
            dup3="dup3"),
    **{name: Row(WAITS, "fcntl", (Check(name), Check(f"{name} of it", ALL, SHARED)))
       for name in ("fcntl", "fcntl64", "__fcntl")},
    "dup": Row(WAITS, "poll", (Check("dup", ALL, SHARED),)),
    # stdio
    **_rows(ACTS, ALL, fdopen="", _IO_fdopen=""),
    **_rows(WAITS, ALL, fclose="write", _IO_fclose="write", freopen="write", freopen64="write",
            dprintf="write", vdprintf="write", __dprintf_chk="write", __vdprintf_chk="write"),
    # process
    **_rows(ACTS, ALL, fork="clone|clone3|fork", __fork="clone|clone3|fork",
            __libc_fork="clone|clone3|fork", _Fork="clone|clone3|fork", vfork="vfork|clone",
            __vfork="vfork|clone", forkpty="clone|clone3|fork", unshare="unshare", setns="setns",
            setuid="setuid", seteuid="setresuid", setreuid="setreuid", setresuid="setresuid",
            prctl="prctl", posix_spawn="clone3|clone|vfork", posix_spawnp="clone3|clone|vfork",
            pidfd_spawn="clone3|clone", pidfd_spawnp="clone3|clone", posix_spawn_file_actions_adddup2="",
            popen="clone3|clone|vfork", _IO_popen="clone3|clone|vfork"),
    **_rows(WAITS, ALL, system="clone3|clone|vfork", wordexp="clone3|clone|fork", pclose="wait4"),
    **_rows(ENDS, ALL, execve="execve", execv="execve", execvp="execve", execvpe="execve",
            execl="execve", execle="execve", execlp="execve", fexecve="execveat",
            execveat="execveat", exit="clock_nanosleep", quick_exit="clock_nanosleep",
            pthread_exit="clock_nanosleep", thrd_exit="clock_nanosleep",
            daemon="clone|clone3|fork"),
    **_rows(ENDS, BUFFERED, _exit="exit_group", _Exit="exit_group", abort="tgkill"),
    **_rows(ACTS, ALL, setgid="setgid", setegid="setresgid", setregid="setregid", setresgid="setresgid",
            setfsuid="setfsuid", setfsgid="setfsgid", setgroups="setgroups", initgroups="setgroups",
            personality="personality", capset="capset"),
    # holds begun without a window
    **_rows(ACTS, ("cork",), **{name: "clone|clone3" for name in WINDOWLESS}),
    **_rows(WAITS, BUFFERED, longjmp="poll", _longjmp="poll", siglongjmp="poll",
            __longjmp_chk="poll"),
    # signals
    **_rows(ACTS, BUFFERED, kill="kill", killpg="kill", sigqueue="rt_sigqueueinfo",
            tgkill="tgkill", pthread_kill="tgkill", pthread_sigqueue="rt_tgsigqueueinfo",
            pidfd_send_signal="pidfd_send_signal", gsignal="tgkill", **{"raise": "tgkill"}),
}

# More that holding must not outlast, by names that are tested above.
OTHERS = (
    Check("poll for the answer"), Check("poll for reading or writing another"),
    Check("read a pipe"), Check("read an eventfd"), Check("read a terminal"),
    Check("readv a pipe"), Check("recv from another socket"), Check("recvmsg from another socket"),
    Check("fcntl F_OFD_SETLKW"), Check("syscall SYS_write"),
    Check("poll for room that is not there"), Check("select for room that is not there"),
    Check("poll for a hang-up alone"), Check("send to a socket with room"),
    Check("send on another connection"), Check("eventfd_write with room"),
    *[Check(act, BUFFERED) for act in (
        "the return from main", "syscall SYS_exit_group", "syscall SYS_kill", "syscall SYS_tgkill",
        "syscall SYS_rt_sigqueueinfo", "syscall SYS_rt_tgsigqueueinfo", "syscall SYS_pidfd_send_signal")],
    Check("syscall SYS_seccomp"), Check("syscall SYS_unshare"), Check("unshare CLONE_NEWUSER"),
    Check("a thread's return"),
    Check("join by syscall", ALL, JOINED),
    Check("syscall SYS_futex FUTEX_WAIT"), Check("syscall SYS_futex FUTEX_WAIT_BITSET"),
    Check("syscall SYS_ppoll"), Check("syscall SYS_nanosleep"),
    Check("syscall SYS_recvmmsg"), Check("syscall SYS_preadv2"), Check("syscall SYS_flock"),
    Check("syscall SYS_msgrcv"), Check("syscall SYS_mq_timedreceive"),
    Check("syscall SYS_fcntl F_SETLKW"), *([Check("syscall SYS_ipc MSGRCV")] if IS_32 else []),
    Check("syscall SYS_io_getevents"),
    *([Check("syscall SYS_recv")] if machine().startswith(("arm", "ppc")) else []),
    *([Check("older pthread_cond_timedwait")] if machine() == "x86_64" else []),
    Check("syscall SYS_io_uring_setup", ("nodelay", "auto"), CURED),
    # these may close the old owner of the new number: no hold lasts over them
    Check("dup2 of it", ALL, UNASKED), Check("__dup2 of it", ALL, UNASKED),
    Check("dup3 of it", ALL, UNASKED),
)


def surface():
    """The names of the table in the source, in its order."""
    text = re.sub(r"/\*.*?\*/", "", SURFACE.read_text(encoding="utf-8"), flags=re.S)
    return re.findall(r"^ROW\((\w+),", text, re.M)


def _of_64():
    names = re.findall(r"^ROW32\((\w+),", SURFACE.read_text(encoding="utf-8"), re.M)
    checks = {name: ROWS[re.sub(r"^__|(_time)?64$", "", name)].checks[0] for name in names}
    return checks | {"__fcntl_time64": Check("fcntl of the header")}  # the other acts name theirs themselves


# What a 32-bit program with 64-bit times calls -> the check whose act calls it where the client is so built.
OF_64 = _of_64()
