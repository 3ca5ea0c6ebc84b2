# SPDX-License-Identifier: MIT
"""explain on damaged, foreign and very large files: one clear error, the findings before
it, and constant memory.

UNSTALL_TEST_LARGE=1 reads a gigabyte instead of a hundred megabytes.
"""

import contextlib
import gzip
import json
import os
import pty
import random
import re
import shlex
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
from captures import Capture, Dialog

from harness import COMMAND, VERDICT_CODES, bare_env, on_terminal, skip, unstall, wait_for

MEGABYTES = 1000 if os.environ.get("UNSTALL_TEST_LARGE") == "1" else 100
MOST_MEMORY_KB = 64 * 1024


def stalling(count=20, link="ethernet", port=40000):
    return Dialog(Capture(link), ports=(port, 80)).stalls(count, first=1).capture


GOOD = stalling().pcap()
NOISE = random.Random(4).randbytes(20000)

# the file, the one line on stderr
REFUSED = {
    "empty": (b"", "is empty"),
    "one byte": (b"\xa1", "neither a capture"),
    "noise": (NOISE, "neither a capture"),
    "zeros": (bytes(100000), "neither a capture"),
    "text": (b"Dear Sir or Madam,\n" * 100, "neither a capture"),
    "a magic number alone": (GOOD[:4], "libpcap cannot read this capture"),
    "half a header": (GOOD[:15], "libpcap cannot read this capture"),
    "a version of the future": (GOOD[:4] + struct.pack("<HH", 9, 9) + GOOD[8:],
                                "libpcap cannot read this capture"),
    "noise behind a magic number": (GOOD[:4] + NOISE, "libpcap cannot read this capture"),
    "an unknown link type": (GOOD[:20] + struct.pack("<I", 127) + GOOD[24:],
                             "link type IEEE802_11_RADIO (127): not supported"),
    "half a pcapng": (b"\x0a\x0d\x0d\x0a\x1c\0\0\0", "libpcap cannot read this capture"),
    "snoop": (b"snoop\0\0\0" + NOISE, "editcap -F pcap"),
    "gzip": (gzip.compress(GOOD), "zcat"),
}


def one_error(done, name):
    """The only line on stderr."""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"unstall explain: {name}: ")
    assert done.returncode == 125
    return line


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_capture_and_no_log_is_refused_in_one_line(tmp_path, name):
    data, reason = REFUSED[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    done = unstall("explain", path)
    assert reason in one_error(done, path)
    assert done.stdout == ""


def test_what_cannot_be_opened_or_read(tmp_path):
    assert "No such file or directory" in one_error(unstall("explain", tmp_path / "x"), tmp_path / "x")
    assert "Is a directory" in one_error(unstall("explain", tmp_path), tmp_path)
    assert "no file" in unstall("explain").stderr


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_truncated_capture_tells_what_came_before(tmp_path, form):
    """A full disk, a killed tcpdump."""
    capture = stalling()
    data = capture.pcap() if form == "pcap" else capture.pcapng()
    path = tmp_path / "cut.pcap"
    path.write_bytes(data[:-30])
    done = unstall("explain", path)
    packets = len(capture.packets) - 1
    assert f"damaged after packet {packets}" in one_error(done, path)
    assert "20 stalls" in done.stdout


@pytest.mark.parametrize("link", ["ethernet", "cooked", "cooked 2", "null", "loop", "raw"])
def test_interfaces_of_two_kinds_in_one_file(tmp_path, link):
    """libpcap reads one kind: packets before the second kind count, and the message names the remedy.  It was
    a command that left the second interface in the file."""
    one, other = stalling(2, link), Capture("raw" if link != "raw" else "ethernet")
    first, second = one.pcapng(), other.pcapng()
    path = tmp_path / "two.pcapng"
    path.write_bytes(first + second[28:] + stalling(2, link, 40001).pcapng()[48:])  # one section
    done = unstall("explain", path)
    advice = re.search(r"here the first: (tshark .* NEW)$", one_error(done, path)).group(1)
    assert "2 stalls" in done.stdout
    if not shutil.which("tshark") or not shutil.which("editcap"):
        skip("no tshark")
    words = advice.replace("FILE", shlex.quote(str(path))).replace("NEW", shlex.quote(str(tmp_path / "new")))
    subprocess.run(["bash", "-c", f"set -e; {words}"], check=True, capture_output=True, timeout=60)
    done = unstall("explain", "--json", tmp_path / "new")
    (found,) = json.loads(done.stdout)
    assert (found["stalls"], found["error"]) == (4, None)


def shown(columns, *words):
    """The lines on a terminal of so many columns."""
    env = bare_env(NO_COLOR="1", TERM="xterm", LC_ALL="C.UTF-8")
    code, text = on_terminal(env, columns, "explain", *words)
    assert code == 1
    return [line.rstrip() for line in text.replace("\r", "").splitlines()]


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
@pytest.mark.parametrize("addresses", [{}, {"client": "2001:db8::1234:1", "server": "2001:db8::1234:2"}],
                         ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("words", [[], ["--ladder"]], ids=["text", "ladder"])
def test_it_keeps_to_the_width_of_the_terminal(tmp_path, words, addresses, columns):
    """Text and ladder had 80 columns everywhere, and a terminal broke each line."""
    (tmp_path / "a.pcap").write_bytes(Dialog(**addresses).stalls(3, first=1, apart=1).capture.pcap())
    lines = shown(columns, *words, tmp_path / "a.pcap")
    lines = lines[next(at for at, line in enumerate(lines) if "a.pcap" in line) + 1:]  # behind the path
    assert len(lines) > 10
    assert max(map(len, lines)) <= min(columns, 80), "\n".join(lines)
    text = " ".join(" ".join(lines).replace("\\ ", "").split())
    if words:
        assert "acknowledgement, delayed" in text and "100 bytes held" in text
        heights = {line.index("│") for line in lines if "│" in line and "█" not in line}
        assert len(heights) == 1
    else:
        assert "unstall run --quickack auto -- SERVER" in text and "tot" in text
        assert "ip route change ROUTE quickack 1" in text


def test_any_truncation_and_any_damage_ends_well(tmp_path):
    """No crash, no hang; an error where something is missing, and never more stalls than there are."""
    dice = random.Random(6)
    path = tmp_path / "file"
    for _ in range(150):
        data = bytearray(GOOD)
        if dice.random() < 0.5:
            del data[dice.randrange(len(data)):]
        for _ in range(dice.randrange(6)):
            if data:
                data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data)
        done = unstall("explain", "--json", path)
        assert done.returncode in (0, 1, 2, 125)
        (found,) = json.loads(done.stdout)
        assert found["stalls"] <= 20
        assert bool(found["error"]) == (done.returncode == 125)


def test_packets_of_nonsense(tmp_path):
    """Headers of pcap, noise within."""
    dice = random.Random(9)
    data = [GOOD[:24]]
    for _ in range(3000):
        frame = bytearray(dice.randbytes(dice.randrange(120)))
        if len(frame) > 24 and dice.random() < 0.9:
            frame[12:15] = dice.choice([b"\x08\x00\x45", b"\x86\xdd\x60", b"\x81\x00\x00", b"\x88\x47\x00"])
            frame[23] = 6
        data.append(struct.pack("<IIII", dice.randrange(2**32), dice.randrange(2**32), len(frame),
                                dice.choice([len(frame), 0, 1500, 2**31])) + frame)
    path = tmp_path / "file"
    path.write_bytes(b"".join(data))
    done = unstall("explain", "--json", path, check=True)
    assert json.loads(done.stdout)[0]["stalls"] == 0


# ---- on a pipe

def test_an_interrupt_ends_the_pipe_not_the_report():
    """`tcpdump -w - | unstall explain -` and Ctrl-C: both get it, the report is still to come."""
    with subprocess.Popen([COMMAND, "explain", "-"], env=bare_env(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=False) as process:
        process.stdin.write(GOOD)
        process.stdin.flush()
        until_read(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.stdin.close()
        assert b"20 stalls" in process.stdout.read()
        assert process.wait(10) == 1


def until_read(process):
    """Waits until it waits for more: it has read all bytes then."""
    wait_for(lambda: "pipe" in Path(f"/proc/{process.pid}/wchan").read_text(encoding="utf-8"))


def test_progress_is_shown_on_a_terminal_only():
    controller, terminal = pty.openpty()
    with subprocess.Popen([COMMAND, "explain", "-"], env=bare_env(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        process.stdin.write(GOOD)
        process.stdin.flush()
        until_read(process)
        time.sleep(2.1)
        for _ in range(300):
            process.stdin.write(GOOD[24:])
        process.stdin.close()
        assert b"20 stalls" in process.stdout.read()
        assert process.wait(10) == 1
    shown = b""
    with contextlib.suppress(OSError):  # EIO: no process has the other end
        while piece := os.read(controller, 4096):
            shown += piece
    os.close(controller)
    shown = shown.decode()
    assert re.match(r"\rstandard input: \d+ read\x1b\[K", shown)
    assert shown.endswith("\r\x1b[K")


# ---- size

def peak_of(feed, *words):
    """Runs explain on a pipe that feed(file) fills; the JSON and the peak of its memory in kB."""
    with subprocess.Popen([COMMAND, "explain", "--json", *words, "-"], env=bare_env(),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        feed(process.stdin)
        process.stdin.flush()
        # It is alive: its input has not ended yet, but all is read, except the bytes in the pipe.
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as status:
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])
        process.stdin.close()
        (found,) = json.loads(process.stdout.read())
        assert process.wait(60) == VERDICT_CODES[found["verdict"]["kind"]]
    return found, peak


def moved(records, client):
    """The same packets of another client, later: its number takes the place of 192.0.2.1."""
    address = struct.pack("!I", 0x0a000000 + client)
    return b"".join(struct.pack("<I", struct.unpack("<I", record[:4])[0] + client) +
                    record[4:].replace(b"\xc0\x00\x02\x01", address) for record in records)


def records_of(capture):
    data, at, records = capture.pcap(), 24, []
    while at < len(data):
        size = struct.unpack("<I", data[at + 8:at + 12])[0]
        records.append(data[at:at + 16 + size])
        at += 16 + size
    return records


def of_clients(records, count):
    """feed() of peak_of(): the same packets, again and again, each time from another client."""
    def feed(file):
        file.write(GOOD[:24])
        for i in range(count):
            file.write(moved(records, i))
    return feed


def test_a_large_capture_in_constant_memory():
    """Twenty stalls and bulk, again and again, each time from another client."""
    capture = stalling()
    dialog = Dialog(capture, at=3, ports=(41000, 81))
    for i in range(700):
        dialog.data(4 + i * 0.001, "s", 1448)
    records = records_of(capture)
    rounds = MEGABYTES * 10**6 // sum(map(len, records))
    found, peak = peak_of(of_clients(records, rounds))
    assert (found["connections"], found["stalls"]) == (2 * rounds, 20 * rounds)
    assert found["packets"] == rounds * len(records)
    assert peak < MOST_MEMORY_KB


def test_a_flood_of_connections_in_constant_memory():
    """Each is another one, and stalls."""
    records = records_of(Dialog().stalls(1).capture)
    flood = MEGABYTES * 1000
    found, peak = peak_of(of_clients(records, flood))
    assert (found["connections"], found["stalls"]) == (flood, flood)
    assert peak < MOST_MEMORY_KB
    assert any("connections at a time" in note for note in found["notes"])


def at_seconds(records, shift):
    """The same packets, so many seconds later, modulo 2^32 as the file has them."""
    return [struct.pack("<I", (struct.unpack("<I", one[:4])[0] + shift) % 2**32) + one[4:] for one in records]


def test_connections_beyond_the_table_are_not_counted_as_if_each_were_another(tmp_path):
    """Nine thousand in turn, twice: it was "18000 TCP connections"."""
    stalled = records_of(Dialog().stalls(1).capture)
    path = tmp_path / "file.pcap"
    path.write_bytes(GOOD[:24] + b"".join(moved(at_seconds(stalled, later), i)
                                          for later in (0, 20000) for i in range(9000)))
    done = unstall("explain", path)
    assert re.search(r"packets, up to 18000 TCP connections, ", done.stdout), done.stdout
    assert "9808 times the one that was silent longest was judged" in " ".join(done.stdout.split())


def test_what_is_beyond_the_rows_keeps_its_verdict(tmp_path):
    """Beyond 512 writers, streams without an answer were added up with the stalls, in one row."""
    stalled = records_of(Dialog().stalls(3).capture)
    silent = records_of(Dialog(Capture(), ports=(50000, 80)).stalls(20, answer=None).capture)
    path = tmp_path / "file.pcap"
    writers = [moved(stalled, i) for i in range(600)] + [moved(silent, 1000 + i) for i in range(600)]
    path.write_bytes(GOOD[:24] + b"".join(writers))
    (found,) = json.loads(unstall("explain", "--json", path).stdout)
    assert found["stalls"] == 600 * 3
    by_verdict = {one_way: sum(row["stalls"] for row in found["writers"] if row["one_way"] is one_way)
                  for one_way in (False, True)}
    assert by_verdict == {False: 600 * 3, True: 600 * 20}


@pytest.mark.parametrize("year", [2038, 2105])
def test_a_clock_far_ahead(tmp_path, year):
    """libpcap reads the time as signed: all packets had the time 0, and it was "No stall"."""
    path = tmp_path / "file.pcap"
    records = records_of(stalling())
    first = struct.unpack("<I", records[0][:4])[0]
    path.write_bytes(GOOD[:24] + b"".join(at_seconds(records, (year - 1969) * 31556952 - first)))
    (found,) = json.loads(unstall("explain", "--json", path).stdout)
    assert (found["verdict"]["kind"], found["stalls"]) == ("stalls", 20)


def test_times_that_no_clock_has_cannot_tell(tmp_path):
    """A count of 1.2 thousand million microseconds in each second: it was "No stall"."""
    path = tmp_path / "file.pcap"
    path.write_bytes(GOOD[:24] + b"".join(one[:4] + struct.pack("<I", 1_200_000_000) + one[8:]
                                          for one in records_of(stalling())))
    done = unstall("explain", path)
    assert done.returncode == 2 and "without a time from 1970 to 2106" in " ".join(done.stdout.split())


def test_a_large_log_in_constant_memory():
    """Ever new processes with ever new connections, and lines of 100 kB."""
    def feed(file):
        written = i = 0
        while written < MEGABYTES * 500_000:
            pid = i + 2
            lines = [f"1 12:00:{i % 60:02}.000000 clone(child_stack=NULL, flags=SIGCHLD) = {pid} <0.000010>"]
            for fd in range(3, 40):
                lines.append(f"{pid} 12:00:{i % 60:02}.000100 "
                             f"socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = {fd} <0.000010>")
            lines.append(f'{pid} 12:00:{i % 60:02}.000200 write(3, "{"x" * 100000}", 100000) = 100000')
            data = ("\n".join(lines) + "\n").encode()
            file.write(data)
            written += len(data)
            i += 1
    found, peak = peak_of(feed)
    assert found["stalls"] == 0
    assert peak < MOST_MEMORY_KB
