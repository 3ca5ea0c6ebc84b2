# SPDX-License-Identifier: MIT
"""explain on logs of strace written by hand: the findings that a log supports, and the claims
that it does not."""

import json
import random
import re
from unittest.mock import ANY

import pytest
from test_explain_capture import explained as explained_file

from harness import unstall


class Log:
    """Lines of a log; times in milliseconds since its beginning."""

    def __init__(self, begin=12 * 3600_000, form="-o"):
        self.lines, self.begin, self.form = [], begin, form

    def line(self, time, text, *, pid=100, took=None):
        ms = (self.begin + time) % (24 * 3600_000)
        clock = f"{int(ms // 3600_000):02}:{int(ms // 60_000) % 60:02}:{ms / 1000 % 60:09.6f}"
        front = {"-o": f"{pid} ", "-f": f"[pid {pid}] ", "one": ""}[self.form]
        self.lines.append(f"{front}{clock} {text}" + (f" <{took / 1000:.6f}>" if took is not None else ""))

    def connected(self, time=0, *, pid=100, fd=3, port=80, host="192.0.2.2"):
        self.line(time, f"socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = {fd}", pid=pid, took=0.01)
        self.line(time + 0.1, f'connect({fd}, {{sa_family=AF_INET, sin_port=htons({port}), '
                  f'sin_addr=inet_addr("{host}")}}, 16) = 0', pid=pid, took=0.2)
        return self

    def write(self, time, size=100, *, fd=3, pid=100):
        self.line(time, f'write({fd}, "{"x" * 32}"..., {size}) = {size}', pid=pid, took=0.02)

    def read(self, time, took, *, fd=3, pid=100):
        self.line(time, f'read({fd}, "HTTP/1.1 200 OK"..., 4096) = 200', pid=pid, took=took)

    def exchange(self, time, wait, *, sizes=(200, 100), **where):
        for i, size in enumerate(sizes):
            self.write(time + i * 0.1, size, **where)
        self.read(time + 0.1 * len(sizes), wait, **where)

    def twenty(self, *calls, first=1):
        """Twenty times these, a tenth of a second apart: (ms, bytes to write, "read" or a line, its ms)."""
        for at in range(first, first + 2000, 100):
            for after, what, *took in calls:
                if isinstance(what, int):
                    self.write(at + after, what)
                elif what == "read":
                    self.read(at + after, *took)
                else:
                    self.line(at + after, what, took=took[0] if took else 0.01)

    def exchanges(self, first, wait, **how):
        """Twenty, a tenth of a second apart."""
        for i in range(20):
            self.exchange(first + i * 100, wait, **how)

    def text(self):
        return "\n".join(self.lines) + "\n"


def explained(tmp_path, text):
    """The JSON object; text may be bytes."""
    return explained_file(tmp_path, text.encode() if isinstance(text, str) else text, "strace.log")


def stalling(count=20, **form):
    log = Log(**form).connected()
    log.exchange(1, 0.5)
    for i in range(count):
        log.exchange(100 + i * 100, 40 + i % 8)
    return log


@pytest.mark.parametrize("form", [{"form": "-o"}, {"form": "-f"}, {"form": "one"},
                                  {"begin": 24 * 3600_000 - 1000}], ids=["-o", "-f", "one", "midnight"])
def test_writes_a_read_and_the_wait(tmp_path, form):
    found = explained(tmp_path, stalling(**form).text())
    assert (found["verdict"]["kind"], found["verdict"]["likely"]) == ("stalls", True)
    assert (found["stalls"], found["connections"]) == (20, 1) and found["duration_ms"] < 10_000
    (writer,) = found["writers"]
    assert writer["service"] == "192.0.2.2:80"
    assert 40 <= writer["least_ms"] <= writer["median_ms"] <= writer["most_ms"] <= 48


@pytest.mark.parametrize("others, named", [(0, "process 100"), (1, "thread 100's process"),
                                           ("made", "process 100")])
def test_the_id_of_a_thread_is_not_called_that_of_a_process(tmp_path, others, named):
    """strace writes ids of threads.  Of several that ran before, it does not say whose they are."""
    log = Log()
    if others == "made":
        log.line(-1, "clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}, 88) = 101", took=0.1)
    log.lines += stalling().lines
    if others:
        log.line(3000, "futex(0x7f, FUTEX_WAIT, 2, NULL) = 0", pid=101, took=1)
    (writer,) = explained(tmp_path, log.text())["writers"]
    assert writer["side"] == "client" and writer["writer"] == named


def test_a_call_that_others_interrupt(tmp_path):
    """<unfinished ...> and resumed, with the lines of another thread in between; a reader of its own."""
    log = Log()
    log.line(-1, "clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FILES) = 101", took=0.1)
    log.connected()
    for i in range(20):
        at = 1 + i * 100
        wait = 0.5 if i == 0 else 42
        log.line(at, "recvfrom(3,  <unfinished ...>", pid=101)
        log.line(at + 1, "write(3,  <unfinished ...>")
        log.line(at + 1.05, "futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>", pid=102)
        log.line(at + 1.1, '<... write resumed>"aaaa"..., 200) = 200', took=0.1)
        log.line(at + 1.2, 'write(3, "bbbb"..., 100) = 100', took=0.1)
        log.line(at + 1.3, "futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>")
        log.line(at + 1.2 + wait, '<... recvfrom resumed>"ok"..., 4096, 0, NULL, NULL) = 200', pid=101,
                 took=wait + 1.2)
        log.line(at + 1.3 + wait, "<... futex resumed>) = 0", took=wait)
    found = explained(tmp_path, log.text())
    assert found["stalls"] == 19, found


def test_a_dup_and_a_forked_child_are_the_same_connection(tmp_path):
    log = Log().connected()
    log.line(0.4, "dup(3) = 4", took=0.01)
    log.line(0.5, "clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 200", took=0.1)
    log.exchange(1, 0.5, pid=200)
    for i in range(20):
        at = 10 + i * 100
        log.write(at, 200, fd=4, pid=200)
        log.write(at + 0.1, 100, fd=3, pid=200)
        log.read(at + 0.2, 43, fd=3, pid=200)
    assert explained(tmp_path, log.text())["stalls"] == 20


# ---- no stall

AS_EVER = (0, 200), (0.1, 100), (0.2, "read", 43)


def quick(name, *calls, option=None):
    """The build() of twenty such messages on a connection whose first was answered at once: only the reason
    in question speaks against a stall."""
    def build(log):
        log.connected(-100)
        log.exchange(-99, 0.5)
        if option:
            log.line(0.6, f"setsockopt(3, {option}) = 0", took=0.01)
        log.twenty(*calls)
    build.__name__ = name
    return build


def on(name, *lines):
    """The build() of twenty messages on the descriptor 3 that such calls made."""
    def build(log):
        for i, line in enumerate(lines):
            log.line(i * 0.1, f"{line} = {0 if line.startswith(('connect', 'close')) else 3}", took=0.01)
        log.exchanges(1, 43)
    build.__name__ = name
    return build


def slow_for_whole_messages_too(log):
    log.connected()
    for i in range(40):
        log.exchange(1 + i * 100, 44, sizes=(200, 100) if i % 2 else (300,))


def slow_from_the_first(log):
    """One connection an exchange, each in pieces, each 44 ms: it cannot be told."""
    for i in range(20):
        log.connected(i * 100)
        log.exchange(1 + i * 100, 44)
        log.line(60 + i * 100, "close(3) = 0", took=0.01)


def any_time(log):
    dice = random.Random(3)
    log.connected()
    log.exchange(1, 0.5)
    for i in range(300):
        log.exchange(100 + i * 300, dice.uniform(2, 200))


def on_a_pipe(log):
    log.line(0, "pipe2([3, 4], O_CLOEXEC) = 0", took=0.01)
    for i in range(20):
        log.write(1 + i * 100, 200, fd=4)
        log.write(1.1 + i * 100, 100, fd=4)
        log.read(1.2 + i * 100, 43)


def a_terminal(log):
    log.lines.append("")
    log.exchanges(1, 43, fd=1)


def input_of_a_32_bit_program(log):
    """fcntl64 with any command was taken for a dup: its result 0 made standard input the connection."""
    log.connected(-100)
    log.exchange(-99, 0.5)
    log.line(0.6, "fcntl64(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0", took=0.01)
    for i in range(20):
        log.write(1 + i * 100, 200)
        log.write(1.1 + i * 100, 100)
        log.read(1.2 + i * 100, 43, fd=0)


def slow_all_along(log):
    log.connected()
    log.exchanges(1, 44)


NO_STALL = [
    quick("TCP_NODELAY", *AS_EVER, option="SOL_TCP, TCP_NODELAY, [1], 4"),
    quick("TCP_NODELAY of IPPROTO_TCP", *AS_EVER, option="IPPROTO_TCP, TCP_NODELAY, [1], 4"),
    quick("in one write", (0, 300), (0.1, "read", 43)),
    quick("under MSG_MORE", (0, 'sendto(3, "x"..., 200, MSG_MORE, NULL, 0) = 200'),
          (0.1, 'sendto(3, "x"..., 100, 0, NULL, 0) = 100'), (0.2, "read", 43)),
    quick("under a cork", (0, "setsockopt(3, SOL_TCP, TCP_CORK, [1], 4) = 0"), (0.1, 200), (0.2, 100),
          (0.3, "setsockopt(3, SOL_TCP, TCP_CORK, [0], 4) = 0"), (0.4, "read", 43)),
    # a full segment behind the header makes the peer acknowledge at once
    quick("a large body", (0, 200), (0.1, 3000), (0.2, "read", 43)),
    # the program itself takes 43 ms before it reads arrived data
    quick("computing", (0, 200), (0.1, 100), (20, "getpid() = 100", 0.001), (43, "read", 0.01)),
    quick("sleeping", (0, 200), (0.1, 100), (0.2, "nanosleep({tv_sec=0, tv_nsec=43000000}, NULL) = 0", 43),
          (43.5, "read", 0.01)),
    on("a Unix socket", "socket(AF_UNIX, SOCK_STREAM, 0)",
       'connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 110)'),
    on("datagrams", "socket(AF_INET, SOCK_DGRAM, IPPROTO_IP)"),
    on("a file under the number of a connection", "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP)",
       'connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.2")}, 16)', "close(3)",
       'openat(AT_FDCWD, "/dev/ttyS0", O_RDWR)'),
    slow_for_whole_messages_too, any_time, on_a_pipe, a_terminal, input_of_a_32_bit_program,
    # the first message tells here that the peer is slow by itself
    slow_from_the_first, slow_all_along]


@pytest.mark.parametrize("build", NO_STALL, ids=lambda build: build.__name__)
def test_nothing_is_claimed_where_nothing_is(tmp_path, build):
    log = Log()
    build(log)
    found = explained(tmp_path, log.text())
    assert (found["stalls"], found["writers"], found["error"]) == (0, [], None), found


def busy(log):
    """Each wait lasts from 30 to 90 ms, after all messages."""
    dice = random.Random(5)
    log.connected()
    for i in range(60):
        log.exchange(1 + i * 200, dice.uniform(30, 90), sizes=(200, 100) if i % 2 else (300,))


def busy_at_times(log):
    """Three of ten waits are 36 to 60 ms, and as many a little longer or shorter."""
    log.connected()
    for i in range(50):
        log.exchange(1 + i * 200, [0.5, 38, 0.5, 70, 47, 0.5, 30, 59, 0.5, 90][i % 10])


def behind_an_unanswered_one(log):
    """A is read in two parts, B, which has no answer, lies in between, and C waits, none knows for what."""
    log.connected()
    for i in range(20):
        for part, wait in enumerate((0.1, 0.1, 43)):
            log.write(1 + i * 200 + part, 20 + part)
            log.read(1.1 + i * 200 + part, wait)


def answers_in_pieces(log):
    """The server's second piece comes 41 ms behind its first: its stall, or its own time."""
    log.connected()
    log.twenty((0, 300), (0.1, "read", 0.3), (1, "read", 41))


@pytest.mark.parametrize("build", [slow_from_the_first, slow_all_along, slow_for_whole_messages_too, busy,
                                   busy_at_times, behind_an_unanswered_one, answers_in_pieces],
                         ids=lambda build: build.__name__)
def test_what_cannot_be_told_is_said(tmp_path, build):
    """They said "No stall", and a note that it may be one."""
    log = Log()
    build(log)
    found = explained(tmp_path, log.text())
    verdict = found["verdict"]
    assert (found["stalls"], verdict["kind"], found["notes"]) == (0, "cannot-tell", [])
    assert re.match(r"\d+ of process 100's \d+ waits for 192\.0\.2\.2:80 are as long as a stall, and nothing "
                    r"tells them from a slow peer or a busy machine\. A capture can tell", verdict["because"])
    assert verdict["sentence"] == f"Cannot tell: {verdict['because']}."


AT = 'sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.2")'


@pytest.mark.parametrize("wait", [lambda i: 40 + i % 8, lambda i: 45 if i % 2 else 35], ids=["stalls", "?"])
@pytest.mark.parametrize("bound", [[], [f"bind(4, {{{AT}}}, 16) = 0"]], ids=len)
def test_a_server_is_not_named_by_a_descriptor_and_waits_for_its_clients(tmp_path, bound, wait):
    """It said "run the server descriptor 4 under unstall", and that a server waits for its own address."""
    log = Log()
    for line in ["socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 4", *bound, f"accept(4, {{{AT}}}, [16]) = 3"]:
        log.line(0, line)
    for i in range(41):
        log.exchange(1 + i * 100, wait(i) if i else 0.1)
    found = explained(tmp_path, log.text())
    service = "192.0.2.2:80" if bound else "descriptor 3"
    if found["verdict"]["kind"] == "stalls":
        server = f"the server {service}" if bound else "the server"
        assert found["cure"]["where"] == f"run {server} under unstall"
    else:
        assert f" waits for its clients on {service} are as long as a stall" in found["verdict"]["because"]
    assert found["stalls"] == (40 if wait(1) == 41 else 0)


# ---- behind a message without an answer

def test_exchanges_that_are_left_out_are_told(tmp_path):
    """Of a Java server with 40 exchanges of 40 ms it said "8 on 8 connections", and no word of the others,
    then "too few", and that 36 "more" came late."""
    log = Log().connected()
    log.exchange(1, 0.5)
    for i in range(20):  # 100 waits for all connections, each of four threads reads and answers in turn
        at, pid = 100 + i * 50, 101 + i % 4
        log.line(at, 'read(3, "GET / HTTP/1.1"..., 8192) = 68', pid=pid, took=0.01)
        log.write(at + 0.1, 77, pid=pid)
        log.write(at + 0.2, 320, pid=pid)
        log.line(at + 0.5, "epoll_wait(5, [{events=EPOLLIN, data={u32=3}}], 1024, 1000) = 1", took=49)
    lines = log.text().splitlines(keepends=True)
    clones = [f"100 12:00:00.00005{n} clone3({{flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD"
              f"}}, 88) = {101 + n} <0.000010>\n" for n in range(4)]
    found = explained(tmp_path, "".join([lines[0], *clones, *lines[1:]]))
    verdict = found["verdict"]
    assert (found["stalls"], found["notes"], verdict["kind"]) == (0, [], "cannot-tell"), verdict
    assert verdict["because"].startswith("19 answers came late, and the thread that read them was not seen")


@pytest.mark.parametrize("apart", [0.1, 0.4], ids=["at once", "after the answer has come"])
def test_a_message_behind_one_that_has_no_answer(tmp_path, apart):
    """A, then B, which is never answered; the answer of A; and C waits behind B.  It was "No stall"."""
    log = Log().connected()
    for i in range(20):
        at = 1 + i * 100
        log.write(at, 26)
        log.write(at + apart, 9)
        log.read(at + apart + 0.1, 0.3 if apart < 0.3 else 0.01)
        log.write(at + apart + 0.5, 33)
        log.read(at + apart + 0.6, 0.2 if i == 0 else 41 + i % 6)
    found = explained(tmp_path, log.text())
    assert (found["stalls"], found["connections"]) == (19, 1)
    (writer,) = found["writers"]
    assert (writer["side"], writer["service"]) == ("client", "192.0.2.2:80")
    example = writer["examples"][0]
    assert (example["first_bytes"], example["rest_bytes"]) == (9, 33)
    assert example["second_write"]["line"] == example["first_write"]["line"] + 2
    assert "of 20 small messages behind one in several writes" in writer["evidence"]


def test_a_slow_answer_behind_a_burst_is_no_stall(tmp_path):
    """The peer takes as long for messages that stand alone, so C may be slow for itself."""
    log = Log().connected()
    for i in range(20):
        at = 1 + i * 300
        log.write(at, 26)
        log.write(at + 0.1, 9)
        log.read(at + 0.2, 0.3)
        for j in range(3):
            log.write(at + 1 + j * 50, 33)
            log.read(at + 1.1 + j * 50, 44)
    found = explained(tmp_path, log.text())
    assert (found["stalls"], found["verdict"]["kind"]) == (0, "cannot-tell")


# What comes before the first message, and twenty messages that stall.
SEEN = {
    "poll waits and the read does not": ((), (
        (0, 200), (0.1, 100), (0.2, "poll([{fd=3, events=POLLIN}], 1, 5000) = 1 ([{fd=3, revents=POLLIN}])",
                               43), (43.3, "read", 0.01))),
    "Nagle switched on again, the last word": ((
        "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0", "setsockopt(3, SOL_TCP, TCP_NODELAY, [0], 4) = 0"),
        AS_EVER),
    "data that looks like the end of a call": ((), (
        (0, 'write(3, "x) = 9 <0.000001> = -1 E <unfinished ...>", 200) = 200'),
        (0.1, 'sendto(3, "MSG_MORE sa_family=", 100, 0, NULL, 0) = 100'), (0.2, "read", 43))),
    # strace -s 1000000: the head and the tail of a line are enough
    "lines without end": ((), ((0, f'write(3, "{"x" * 200_000}", 200) = 200'), *AS_EVER[1:])),
}


@pytest.mark.parametrize("name", SEEN)
def test_twenty_stalls_are_seen(tmp_path, name):
    before, calls = SEEN[name]
    log = Log().connected()
    for text in before:
        log.line(0.5, text, took=0.01)
    log.exchange(1, 0.5)
    log.twenty(*calls, first=100)
    assert explained(tmp_path, log.text())["stalls"] == 20


def test_an_accepted_connection_has_its_listeners_option(tmp_path):
    for nodelay, stalls in ((0, 20), (1, 0)):
        log = Log()
        log.line(0, "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3", took=0.01)
        log.line(0.1, f"setsockopt(3, SOL_TCP, TCP_NODELAY, [{nodelay}], 4) = 0", took=0.01)
        log.line(0.2, 'bind(3, {sa_family=AF_INET, sin_port=htons(8080), sin_addr=inet_addr("0.0.0.0")}, 16)'
                 ' = 0', took=0.01)
        log.line(1, 'accept4(3, {sa_family=AF_INET, sin_port=htons(40000), '
                 'sin_addr=inet_addr("192.0.2.9")}, [16], SOCK_CLOEXEC) = 5', took=1)
        log.read(2, 0.01, fd=5)
        log.exchange(3, 0.5, fd=5)
        log.exchanges(100, 44, fd=5)
        found = explained(tmp_path, log.text())
        assert found["stalls"] == stalls
        if stalls:
            (writer,) = found["writers"]
            assert (writer["side"], writer["service"], writer["bound"]) == ("server", "0.0.0.0:8080", True)


def test_a_server_is_not_drawn_talking_to_itself(tmp_path):
    """The peer of its messages was its own address, though -yy has the client's; and in --ladder the second
    picture had no caption."""
    log = Log()
    fd = "7<TCP:[127.0.0.1:8080->127.0.0.1:44476]>"
    log.read(2, 0.01, fd=fd)
    log.exchange(3, 0.5, fd=fd)
    log.exchanges(100, 44, fd=fd)
    found = explained(tmp_path, log.text())
    (writer,) = found["writers"]
    assert (writer["side"], writer["service"]) == ("server", "127.0.0.1:8080")
    assert {example["to"] for example in writer["examples"]} == {"127.0.0.1:44476"}
    drawn = unstall("explain", "--ladder", tmp_path / "strace.log", check=True).stdout
    heads = [line for line in drawn.splitlines() if line.lstrip().startswith("ms ")]
    assert len(heads) == 2 and all("127.0.0.1:44476" in head for head in heads)
    assert "\nAs recorded, not held: lines 2 and 3 of the file have a message of about that" in drawn


def test_decorated_descriptors_tell_of_connections_made_before(tmp_path):
    log = Log()
    log.exchanges(1, 43, fd="7<TCP:[10.0.0.1:5000->10.0.0.2:80]>")
    found = explained(tmp_path, log.text())
    (writer,) = found["writers"]
    assert (writer["service"], writer["stalls"], writer["side"]) == ("10.0.0.2:80", 20, "client")
    assert "no other messages to compare with" in writer["evidence"]


@pytest.mark.parametrize("local", ["192.0.2.1", "2001:db8::1"])
def test_an_address_of_version_4_in_a_socket_of_version_6(tmp_path, local):
    """As of a server in Java.  It had another name than in a capture or a scan."""
    log = Log()
    shown = f"::ffff:{local}" if "." in local else local
    log.line(0, f'accept(4, {{sa_family=AF_INET6, sin6_port=htons(40000), inet_pton(AF_INET6, "{shown}", '
             "&sin6_addr), sin6_scope_id=0}, [28]) = 3", took=0.01)
    for i in range(21):
        log.exchange(1 + i * 100, 40 + i % 8 if i else 0.5,
                     fd=f"3<TCPv6:[[{shown}]:8102->[{shown}]:40000]>")
    (writer,) = explained(tmp_path, log.text())["writers"]
    assert writer["service"] == ("192.0.2.1:8102" if "." in local else "[2001:db8::1]:8102")


LIBC = " > /usr/lib/x86_64-linux-gnu/libc.so.6(send+0x19) [0x10ab59]"


@pytest.mark.parametrize("frames, places", [
    (("/opt/app(send_header+0x14) [0x1234]", "/opt/app(send_body+0x1f) [0x1299]"),
     ["send_header in app", "send_body in app"]),
    (("/opt/app(put+0x14) [0x1234]", "/opt/app(put+0x14) [0x1234]"), ["put in app", "put in app"]),
    (("/opt/lib.so(Client::send(int, char const*)+0x1) [0x1]", "/opt/app(+0x14) [0x1299]"),
     ["Client::send(int, char const*) in lib.so", "code in app"]),
    (("/opt/app(" + "x" * 5000 + "+0x1) [0x1]", "anon(inode)"), ["x" * 95, "code in anon"]),
    (("nonsense", "("), ["main in app", "main in app"]),
], ids=["functions", "a wrapper", "C++", "damaged", "nonsense"])
def test_the_stacks_of_strace_k_name_the_places(tmp_path, frames, places):
    log = Log().connected()
    log.lines.append(" > /opt/app(of_no_write+0x1) [0x1]")
    log.exchange(1, 0.5)
    for i in range(20):
        at = 100 + i * 100
        for piece, frame in enumerate(frames):
            log.write(at + 0.1 * piece, 200 - 100 * piece)
            log.lines += [LIBC, f" > {frame}", " > /opt/app(main+0x127) [0x13c7]"]
        log.read(at + 0.2, 43)
        log.lines += [LIBC, " > /opt/app(of_the_read+0x1) [0x1]"]
    (writer,) = explained(tmp_path, log.text())["writers"]
    example = writer["examples"][0]
    assert [example[name]["place"] for name in ("first_write", "second_write")] == places
    text = " ".join(unstall("explain", tmp_path / "strace.log", check=True).stdout.split())
    page = unstall("explain", "--html", "-", tmp_path / "strace.log", check=True).stdout
    if places[0] == places[1]:
        said = f"Both pieces are written by {places[0]}."
    else:
        said = f"The first piece is written by {places[0]}, the second by {places[1]}."
    assert (said in text) and (f"<p>{said}</p>" in page)


def test_the_stack_of_another_call_is_not_the_writers(tmp_path):
    log = re.sub(r"^(100 [0-9:.]+ )(write\(.*)$",
                 r"\1\2\n\1getpid() = 100 <0.000010>\n > /opt/app(of_no_write+0x1) [0x1]", stalling().text(),
                 flags=re.MULTILINE)
    assert "of_no_write" in log
    (writer,) = explained(tmp_path, log)["writers"]
    assert writer["examples"][0]["first_write"]["place"] is None
    assert "written by" not in unstall("explain", tmp_path / "strace.log", check=True).stdout


def test_noise_between_the_lines(tmp_path):
    """Binary bytes, stack traces, signals, strace's own words: lines that can be understood count."""
    dice = random.Random(1)
    noise = [bytes(dice.randrange(256) for _ in range(dice.randrange(200))).replace(b"\n", b"")
             for _ in range(50)]
    noise += [b" > /lib/x86_64-linux-gnu/libc.so.6(__write+0x14) [0xf7a90]", b"strace: Process 9 attached",
              b"100 12:00:00.000100 --- SIGCHLD {si_signo=SIGCHLD} ---", b"100 12:00:00 = = = ("]
    lines = []
    for line in stalling().lines:
        lines += [dice.choice(noise), line.encode()]
    found = explained(tmp_path, b"\n".join(lines))
    assert found["stalls"] == 20


def test_strings_in_hexadecimal_are_read(tmp_path):
    """strace -xx: the program was called \\x2e\\x2f..., and no command could be typed."""
    log = Log()
    log.line(-1, 'execve("./app", ["./app", "--to", "a b"], 0x7f /* 9 vars */) = 0', took=0.1)
    log.line(-0.9, 'execve("./app", ["./app", "run"], 0x7f /* 9 vars */) = 0', took=0.1)
    log.lines += stalling().lines
    def coded(match):
        return '"' + "".join(f"\\x{ord(c):02x}" for c in match.group(1)) + '"'
    plain, hexed = log.text(), re.sub(r'"([^"]*)"', coded, log.text())
    assert hexed.count("\\x") > 1000
    assert explained(tmp_path, hexed) == {**explained(tmp_path, plain), "made": ANY}
    told = unstall("explain", tmp_path / "strace.log").stdout
    assert "app writes its requests to 192.0.2.2:80 in pieces" in " ".join(told.split())
    assert "    unstall run -- ./app run\n" in told


TCPDUMPS_TEXT = {
    "plain": "10:05:59.059953 IP localhost.51392 > localhost.38553: Flags [P.], seq 1:5, ack 3, length 4",
    "-ttt -q": " 00:00:00.000000 IP 127.0.0.1.43756 > 127.0.0.1.60039: tcp 4",
    "-tttt -q": "2026-11-28 10:06:08.958243 IP6 ::1.35729 > ::1.46158: tcp 0",
    "-t -q": "IP 127.0.0.1.43756 > 127.0.0.1.60039: tcp 4",
    "-e": "10:06:03.994835 00:00:00:00:00:00 (oui Ethernet) > 00:00:00:00:00:00 (oui Ethernet), ethertype "
          "IPv4 (0x0800), length 79: localhost.36693 > localhost.35370: Flags [P.], seq 1:14, ack 3",
}


@pytest.mark.parametrize("form", TCPDUMPS_TEXT)
def test_the_text_of_tcpdump_is_not_enough(tmp_path, form):
    """With -q and with -e it was "neither a capture nor a log of strace"."""
    path = tmp_path / "text"
    path.write_text(20 * (TCPDUMPS_TEXT[form] + "\n"))
    done = unstall("explain", path)
    assert done.returncode == 125
    assert done.stderr == (f"unstall explain: {path}: is the text output of tcpdump, which is not enough; "
                           "record a file: tcpdump -w FILE\n")


@pytest.mark.parametrize("first, behind, reason", [
    (4, 20, "without times"), (12, 19, "with whole seconds only")])
def test_a_log_without_usable_times_says_how_to_record_one(tmp_path, first, behind, reason):
    lines = [line[:first] + line[behind:] for line in stalling().lines]
    found = explained(tmp_path, "\n".join(lines))
    assert reason in found["error"]
    assert "strace -f -tt -T -yy" in found["error"]


def test_no_terminal_obeys_what_a_log_brings(tmp_path):
    command = ('100 12:00:00.000000 execve("/bin/e\x1b[2Jvil", ["\x1b]0;title\x07", "\x9b31m"], 0x7f) '
               '= 0 <0.000010>')
    (tmp_path / "log").write_bytes(f"{command}\n{stalling().text()}".encode("latin-1"))
    shown = unstall("explain", tmp_path / "log", check=True).stdout
    assert "Likely 20 stalls" in shown
    assert not re.search(r"[^\n -~]", shown)


def test_many_processes_and_descriptors_stay_in_bounds(tmp_path):
    """More than the tables hold: the newest are known."""
    log = Log()
    for pid in range(1000, 4000):
        log.line(pid, f"clone(child_stack=NULL, flags=SIGCHLD) = {pid}", took=0.01)
        for fd in range(3, 7):
            log.line(pid + 0.1, f"socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = {fd}", pid=pid, took=0.01)
    log.begin += 5_000
    log.lines += stalling(begin=log.begin).lines
    assert explained(tmp_path, log.text())["stalls"] == 20


def many_processes(wait_ms):
    """600 processes with a connection each, which take turns: ten exchanges each, with such waits."""
    lines = []

    def add(pid, call, now=1_700_000_000):
        lines.append(f"{pid} {now:.6f} {call}")
    for pid in range(1000, 1600):
        add(pid, "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3 <0.00001>")
        add(pid, 'connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}, 16) '
                 '= 0 <0.0001>')
    for number in range(6000):
        pid, now = 1000 + number % 600, 1_700_000_001 + number / 4
        add(pid, 'write(3, "x", 200) = 200 <0.00001>', now)
        add(pid, 'write(3, "y", 100) = 100 <0.00001>', now + 0.0001)
        add(pid, f'read(3, "z", 4096) = 300 <{wait_ms(number) / 1000:.6f}>', now + 0.0002)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("wait_ms, sentence", [
    (lambda number: number * 7919 % 200 + 1, "Cannot tell: 1650 of 6000 waits"),
    (lambda number: number % 20 + 1, "No stall in 5400 exchanges"),
], ids=["a slow peer", "a quick one"])
def test_more_processes_than_its_table_holds(tmp_path, wait_ms, sentence):
    """Each part of a process was judged by its one wait: "Likely 1500 stalls"; or 6000 connections."""
    path = tmp_path / "strace.log"
    path.write_text(many_processes(wait_ms))
    (found,) = json.loads(unstall("explain", "--json", path).stdout)
    assert found["verdict"]["sentence"].startswith(sentence)
    assert (found["connections"], found["stalls"]) == (600, 0)
