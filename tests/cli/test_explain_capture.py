# SPDX-License-Identifier: MIT
"""explain on captures made by hand: each result claims no more than its capture shows.

The first is a published trace: a request at 0.006527, a bare acknowledgement at 0.049994, the rest at
0.050063.
"""

import json
import random
import re
import shutil
import struct
import subprocess

import pytest
from captures import ACK, FIN, MS, PUSH, SYN, TUNNELS, Capture, Dialog, ip4, tunnelled, udp

from harness import VERDICT_CODES, unstall


def explained(tmp_path, data, name="capture.pcap"):
    """The JSON object of one file."""
    path = tmp_path / name
    path.write_bytes(data)
    done = unstall("explain", "--json", path)
    (result,) = json.loads(done.stdout)
    assert done.returncode == (125 if result["error"] else VERDICT_CODES[result["verdict"]["kind"]])
    return result


def judged(tmp_path, capture, **form):
    return explained(tmp_path, capture.pcap(**form))


def published(link="ethernet", handshake=True, through=lambda packet: packet, **more):
    dialog = Dialog(Capture(link, through), at=0.001 if handshake else None, **more)
    dialog.data(0.006527, "c", 160)
    dialog.ack(0.049994, "s")
    dialog.data(0.050063, "c", 90)
    dialog.data(0.052, "s", 300)
    return dialog.capture


@pytest.mark.parametrize("handshake", [True, False])
def test_the_published_trace_is_one_stall_of_43_5_ms(tmp_path, handshake):
    found = judged(tmp_path, published(handshake=handshake))
    assert found["verdict"]["kind"] == "stalls"
    assert found["stalls"] == 1
    assert found["total_ms"] == pytest.approx(43.536)
    (writer,) = found["writers"]
    assert (writer["writer"], writer["side"], writer["service"]) == ("192.0.2.1", "client", "192.0.2.2:80")
    (example,) = writer["examples"]
    first = 4 if handshake else 1
    assert [example[part]["packet"] for part in ("beginning", "acknowledgement", "rest")] == \
        [first, first + 1, first + 2]
    assert (example["from"], example["to"]) == ("192.0.2.1:40000", "192.0.2.2:80")
    assert (example["first_bytes"], example["rest_bytes"]) == (160, 90)


def test_the_report_says_it_in_one_sentence(tmp_path):
    path = tmp_path / "published.pcap"
    path.write_bytes(published().pcap())
    done = unstall("explain", path, check=True)
    text = " ".join(done.stdout.split())
    assert "1 stall of 43.5 ms: 192.0.2.1 writes its requests to 192.0.2.2:80 in pieces." in text
    assert "packets 4, 5 and 6" in text
    shown = re.search(r"^  in Wireshark: (frame\.number in \{4,5,6\})$", done.stdout, re.M)[1]
    if shutil.which("tshark"):
        told = subprocess.run(["tshark", "-r", path, "-Y", shown], check=True, capture_output=True, text=True)
        assert [line.split()[0] for line in told.stdout.splitlines()] == ["4", "5", "6"]
    assert "unstall run -- " in text and "quickack 1" in text
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80


LINKS = ["ethernet", "padded", "vlan", "double vlan", "mpls", "pppoe", "snap", "cooked", "cooked snap",
         "cooked 2", "null", "loop", "raw"]


IP6 = {"client": "2001:db8::1", "server": "2001:db8::2"}


@pytest.mark.parametrize("addresses", [{}, IP6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("link", LINKS)
def test_each_kind_of_link(tmp_path, link, addresses):
    if link == "mpls" and addresses:
        addresses = {}  # a label does not tell the version; IPv4 is the usual
    found = judged(tmp_path, published(link, **addresses))
    assert found["stalls"] == 1, found


@pytest.mark.parametrize("outer", [4, 6])
@pytest.mark.parametrize("addresses", [{}, IP6], ids=["4", "6"])
@pytest.mark.parametrize("tunnel", TUNNELS)
def test_through_each_tunnel(tmp_path, tunnel, addresses, outer):
    """They held no TCP: "No stall".  The ends are those inside."""
    capture = published(through=lambda packet: tunnelled(tunnel, packet, outer), **addresses)
    found = judged(tmp_path, capture)
    assert found["stalls"] == 1, found
    assert addresses.get("client", "192.0.2.1") == found["writers"][0]["writer"]


@pytest.mark.parametrize("mix", [
    lambda packets: random.Random(1).sample(packets, len(packets)),
    lambda packets: packets[::2] + packets[1::2],
    lambda packets: packets[len(packets) // 2:] + packets[:len(packets) // 2],
], ids=["at random", "two interfaces, one after the other", "two files in the wrong order"])
def test_packets_are_sorted_by_time(tmp_path, mix):
    """They were judged as they lay in the file: no stall.  Packets keep their numbers."""
    capture = stalls()
    packets = mix(capture.ordered())
    found = judged(tmp_path, capture, packets=packets)
    assert found["stalls"] == 20
    assert "backwards" not in str(found["notes"])
    example = found["writers"][0]["examples"][0]
    begin, _, rest = (example[part] for part in ("beginning", "acknowledgement", "rest"))
    assert rest["at_ms"] - begin["at_ms"] == pytest.approx(43.05)
    assert packets[rest["packet"] - 1][0] - packets[begin["packet"] - 1][0] == pytest.approx(0.04305)


FORMS = {
    "big-endian": lambda: published().pcap(order=">"),
    "nanoseconds": lambda: published().pcap(nano=True),
    "big-endian nanoseconds": lambda: published().pcap(order=">", nano=True),
    "headers only": lambda: published().pcap(snap=54),
    "without the end of the TCP header": lambda: published().pcap(snap=50),
    "pcapng": lambda: published().pcapng(),
    "extension headers of IPv6": lambda: published(extensions=2, **IP6).pcap(),
    # RFC 6946: the header of a fragment, and no other fragment
    "an atomic fragment": lambda: published(atomic=True, **IP6).pcap(),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_file_and_packet(tmp_path, form):
    found = explained(tmp_path, FORMS[form]())
    assert (found["stalls"], round(found["total_ms"], 3)) == (1, 43.536)


def test_packets_seen_more_than_once_count_once(tmp_path):
    """tcpdump -i any sees a packet at each interface that it passes."""
    dialog = Dialog(Capture("cooked 2"), copies=3)
    found = judged(tmp_path, dialog.stalls(20, first=1, apart=45.05 * MS).capture)
    assert (found["stalls"], found["connections"]) == (20, 1)


def exchanges(build, count=20, through=lambda packet: packet, **more):
    """A capture of so many exchanges, made by build(dialog, time, i), a second apart."""
    dialog = Dialog(Capture(through=through), **more)
    for i in range(count):
        build(dialog, 1 + i, i)
    return dialog.capture


def stalls(count=20, how=lambda i: {}, **more):
    """Each is one, as how(i) says."""
    return exchanges(lambda dialog, time, i: dialog.stall(time, **how(i)), count, **more)


# What happens in an exchange, in ms: the bytes of the client or the server, or a bare acknowledgement; again:
# bytes that were sent before.
PLAYED = {
    # Small data on small data.
    "written under nodelay": "0 c 200, 0.02 c 100, 42 s ack, 60 s 100",
    # Thinks for 45 ms; its kernel acknowledges on its own before.
    "slow server": "0 c 300, 42 s ack, 45 s 250, 45.1 c 300, 90 s 250",
    # Computes for 48 ms between header and body.
    "pausing application": "0 c 200, 42 s ack, 48 c 100, 49 s 250",
    # At once, and the rest comes when it comes.
    "early acknowledgement": "0 c 200, 0.05 s ack, 43 c 100, 44 s 250",
    # A sender that waits for acknowledgements with full segments is limited by something else.
    "full segments": "0 c 1460, 43 s ack, 43.05 c 1460, 44 s 250",
    # The acknowledgement comes with an answer (100 Continue).
    "answered by data": "0 c 200, 43 s 25, 43.05 c 100, 44 s 250",
    # The answer comes right after the bare acknowledgement, and the next request right after that.
    "slow server just behind its kernel": "0 c 300, 43 s ack, 43.02 s 250, 43.05 c 300, 44 s 250",
    # Lost, and sent again.
    "sent again": "0 c 200, 210 c again:200, 252 s ack, 252.05 c 100, 253 s 250",
    # Bytes sent while it recovers wait for its congestion window.
    "after a loss": "0 c 1460, 210 c again:1460, 210.1 c 100, 253 s ack, 253.05 c 100, 254 s 250",
    # Later than RFC 1122 allows a delayed acknowledgement.
    "too late": "0 c 200, 620 s ack, 620.05 c 100, 621.05 s 250",
}


def played(name):
    """The build() of a script above."""
    def build(dialog, time, _):
        for step in PLAYED[name].split(", "):
            ms, side, what = step.split()
            if what == "ack":
                dialog.ack(time + float(ms) * MS, side)
            elif what.startswith("again:"):
                size = int(what.removeprefix("again:"))
                dialog.packet(time + float(ms) * MS, side, PUSH | ACK, size, seq=dialog.next[side] - size)
            else:
                dialog.data(time + float(ms) * MS, side, int(what))
    build.__name__ = name
    return build


def full_window(dialog, time, _):
    """The peer's window has no room for more; its acknowledgement opens it."""
    dialog.window["s"] = 0
    dialog.data(time, "c", 100)
    dialog.data(time + 1 * MS, "s", 10)
    dialog.window["s"] = 1
    dialog.packet(time + 2 * MS, "s", ACK)  # room for 128 bytes
    dialog.data(time + 3 * MS, "c", 100)
    dialog.window["s"] = 500
    dialog.ack(time + 46 * MS, "s")
    dialog.data(time + 46.05 * MS, "c", 400)
    dialog.data(time + 47 * MS, "s", 250)


def keep_alive(dialog, time, _):
    """A byte before the window's end, answered at once."""
    dialog.data(time, "c", 200)
    dialog.data(time + 1 * MS, "s", 250)
    dialog.packet(time + 50 * MS, "c", ACK, seq=dialog.next["c"] - 1)
    dialog.packet(time + 93 * MS, "s", ACK)
    dialog.packet(time + 93.1 * MS, "c", ACK, 1, seq=dialog.next["c"] - 1)
    dialog.packet(time + 136 * MS, "s", ACK)
    dialog.data(time + 136.05 * MS, "c", 100)
    dialog.data(time + 137 * MS, "s", 250)


def fragments(dialog, time, _):
    """Nothing that can be judged."""
    dialog.data(time, "c", 200, fragment=0x2000)
    dialog.ack(time + 43 * MS, "s")
    dialog.data(time + 43.05 * MS, "c", 100, fragment=0x2000)
    dialog.data(time + 44 * MS, "s", 250)


def typing(dialog, time, i):
    """Keys every 0.3 s without an echo (a password): acknowledged late, each on its own."""
    dialog.data(time, "c", 36)
    dialog.ack(time + 43 * MS, "s")
    if i % 10 == 9:
        dialog.data(time + 100 * MS, "s", 50)


NO_STALL = [*map(played, PLAYED), full_window, keep_alive, typing]


@pytest.mark.parametrize("build", NO_STALL, ids=lambda build: build.__name__)
def test_nothing_is_claimed_where_nothing_is(tmp_path, build):
    found = judged(tmp_path, exchanges(build))
    assert (found["stalls"], found["writers"]) == (0, []), found
    assert found["verdict"]["kind"] in ("none", "too-few")


def set_back(seconds):
    """The clock was set back in the midst."""
    packets = stalls().ordered()
    half = len(packets) // 2
    return packets[:half] + [(time - seconds, frame, length) for time, frame, length in packets[half:]]


def one_direction(port):
    return [packet for packet in stalls().ordered() if struct.unpack("!H", packet[1][34:36]) == (port,)]


def with_data():
    """As the filter takes them that is known for HTTP: no SYN, no bare acknowledgement."""
    return [packet for packet in stalls().ordered() if len(packet[1]) > 54]


def in_udp(sport, dport, begin):
    return lambda packet: ip4("198.51.100.1", "198.51.100.2", udp(sport, dport, begin + packet), protocol=17)


CANNOT_TELL = {
    "the client's direction only": (lambda: stalls().pcap(packets=one_direction(40000)),
                                    "1 connection was captured in one direction only; record both"),
    "the server's direction only": (lambda: stalls().pcap(packets=one_direction(80)), "in one direction"),
    "data alone": (lambda: stalls().pcap(packets=with_data()),
                   "no packet without data is in this capture, so acknowledgements are missing"),
    "a snap length of 40": (lambda: stalls().pcap(snap=40),
                            "83 packets are cut before the end of the TCP header; record with a larger"),
    "a clock that was set back": (lambda: stalls().pcap(packets=set_back(10.0213)), "time stamps go back"),
    "fragments": (lambda: exchanges(fragments).pcap(), "40 packets are of the fragments that"),
    "IPsec": (lambda: stalls(through=lambda packet: ip4("198.51.100.1", "198.51.100.2", packet,
                                                        protocol=50)).pcap(),
              "no TCP in this capture, but 83 packets are of a tunnel that cannot be read (IPsec)"),
    "IPsec in UDP": (lambda: stalls(through=in_udp(4500, 4500, b"abcdefgh")).pcap(), "(IPsec)"),
    "WireGuard": (lambda: stalls(through=in_udp(51820, 40001, b"\4\0\0\0")).pcap(), "(WireGuard)"),
    "Geneve": (lambda: stalls(through=in_udp(40001, 6081, bytes(8))).pcap(), "(Geneve)"),
    "no TCP": (lambda: stalls(through=in_udp(51820, 53, b"query")).pcap(), "there is no TCP in this capture"),
}


@pytest.mark.parametrize("name", CANNOT_TELL)
def test_what_a_capture_does_not_allow_to_be_told(tmp_path, name):
    """Each said "No stall"; twenty are in it."""
    build, because = CANNOT_TELL[name]
    found = explained(tmp_path, build())
    verdict = found["verdict"]
    assert (found["stalls"], verdict["kind"], found["error"]) == (0, "cannot-tell", None), found
    assert because in verdict["because"] and because not in str(found["notes"])  # it was told twice
    assert verdict["sentence"] == f"Cannot tell: {verdict['because']}."
    done = unstall("explain", tmp_path / "capture.pcap", check=False)
    assert done.returncode == 2 and "Cannot tell: " in done.stdout and "No stall" not in done.stdout


@pytest.mark.parametrize("tick", [1, 4])
@pytest.mark.parametrize("pause", [40.5, 41, 41.2, 42, 43, 43.5, 44, 44.5, 45])
@pytest.mark.parametrize("jitter", [0.02, 0.5])
def test_an_applications_own_rhythm_is_no_stall(tmp_path, pause, jitter, tick):
    """It writes every so many ms under TCP_NODELAY; the peer's timer fires 40 ms after a segment, at its next
    tick, and sometimes just before the next write."""
    dice = random.Random(7)
    dialog = Dialog()
    dialog.whole(0.5)
    time = 1.0
    for i in range(400):
        dialog.data(time, "c", 200)
        own = (pause + dice.uniform(-jitter, jitter)) * MS
        late = dice.uniform(40, 40 + tick) * MS
        if late < own:
            dialog.ack(time + late, "s")
        time += own
        if i % 20 == 19:
            dialog.data(time - 0.05 * MS, "s", 20)
    assert judged(tmp_path, dialog.capture)["stalls"] == 0


def test_a_random_rhythm_is_no_stall(tmp_path):
    dice = random.Random(8)

    def build(dialog, time, _):
        own, late = dice.uniform(0, 100) * MS, dice.uniform(40, 44) * MS
        dialog.data(time, "c", 200)
        if late < own:
            dialog.ack(time + late, "s")
        dialog.data(time + own, "c", 100)
        dialog.data(time + own + 1 * MS, "s", 250)
    assert judged(tmp_path, exchanges(build, 500))["stalls"] == 0


# Of a server on a busy machine: ms until the acknowledgement, and us from there to the rest.
BUSY = [(43.5, 56), (41.4, 49), (42.2, 70), (43.1, 59), (40.5, 57), (41.4, 71), (43.8, 11), (41.7, 69),
        (42.6, 52), (42.9, 43), (43.8, 37), (40.9, 71), (47.7, 39), (42.1, 71), (44.0, 22), (43.9, 12),
        (43.7, 13), (43.1, 20), (43.3, 22), (43.2, 19), (42.7, 18), (43.5, 19), (43.5, 16), (43.9, 23)]


def test_a_load_that_changes_both_times_a_little_is_no_rhythm(tmp_path):
    """These stalls were left out as the application's own rhythm, which has as much of a gap less as the
    acknowledgement comes later, not 20 us for 2 ms."""
    capture = stalls(len(BUSY), lambda i: {"late": BUSY[i][0] * MS, "gap": BUSY[i][1] * 1e-6})
    assert judged(tmp_path, capture)["stalls"] == len(BUSY)


@pytest.mark.parametrize("late", [30, 43, 50, 100, 200, 500])
def test_delays_of_other_systems(tmp_path, late):
    count = 3 if late < 36 else 1  # a busy machine, too, may be late by 30 ms now and then
    found = judged(tmp_path, stalls(count, lambda _: {"late": late * MS}))
    assert found["stalls"] == count
    assert found["total_ms"] == pytest.approx(count * (late + 0.05))


def test_one_late_acknowledgement_among_many_is_a_busy_machine(tmp_path):
    """iperf3 -l 500 on a machine with more to do: 250 segments acknowledged at once, one after 34 ms."""
    def build(dialog, time, i):
        late = 34 * MS if i == 100 else 0.01 * MS
        dialog.data(time, "c", 500)
        dialog.ack(time + late, "s")
        dialog.data(time + late + (0.01 * MS if i == 100 else 4 * MS), "c", 500)
        dialog.ack(time + late + 5 * MS, "s")
    found = judged(tmp_path, exchanges(build, 125))
    assert (found["stalls"], found["writers"]) == (0, [])


@pytest.mark.parametrize("count, how, seen", [
    (2, lambda _: {"late": 30 * MS}, 0),  # one of 30 ms alone
    (100, lambda i: {"gap": 5 * MS if i % 5 == 0 else 60e-6}, 100)],  # every fifth time the rest comes later
    ids=["once", "now and then"])
def test_a_busy_machine_is_late(tmp_path, count, how, seen):
    assert judged(tmp_path, stalls(count, how))["stalls"] == seen


@pytest.mark.parametrize("side, name", [("c", "192.0.2.1"), ("s", "192.0.2.2:80")])
def test_which_side_writes_in_pieces(tmp_path, side, name):
    def build(dialog, time, _):
        if side == "s":
            dialog.data(time - 1 * MS, "c", 80)
        dialog.stall(time, side=side)
    found = judged(tmp_path, exchanges(build))
    (writer,) = found["writers"]
    assert (writer["writer"], writer["side"]) == (name, "client" if side == "c" else "server")
    assert writer["stalls"] == 20


def far(dialog, time, trip, late, *, at_receiver):
    """A stall over a path with a round trip, seen at one end."""
    dialog.data(time, "c", 200)
    if at_receiver:
        dialog.ack(time + late, "s")
        dialog.data(time + late + trip, "c", 100)
        dialog.data(time + late + trip + 1 * MS, "s", 250)
        dialog.ack(time + late + 2 * trip + 1 * MS, "c")
    else:
        dialog.ack(time + trip + late, "s")
        dialog.data(time + trip + late + 0.05 * MS, "c", 100)
        dialog.data(time + 2 * trip + late + 1 * MS, "s", 250)


@pytest.mark.parametrize("at_receiver", [False, True])
@pytest.mark.parametrize("late, stalls", [(43, 20), (0.01, 0)])
def test_a_round_trip_is_no_delayed_acknowledgement(tmp_path, at_receiver, late, stalls):
    trip = 60 * MS
    dialog = Dialog(at=None)
    if at_receiver:
        arrives(dialog, trip)
    else:
        dialog.handshake(0, trip)
    for i in range(20):
        far(dialog, 1 + i * 0.5, trip, late * MS, at_receiver=at_receiver)
    found = judged(tmp_path, dialog.capture)
    assert found["stalls"] == stalls
    if stalls:
        assert found["total_ms"] == pytest.approx(20 * (60 + 43), abs=20 * 0.1)
    elif not at_receiver:
        assert any("plain round trip" in note for note in found["notes"])


def arrives(dialog, trip):
    """A handshake as the receiver's side sees it."""
    dialog.packet(0, "c", SYN, options=dialog.options())
    dialog.next["c"] += 1
    dialog.seen["c"] = dialog.next["c"]
    dialog.packet(0.00001, "s", SYN | ACK, options=dialog.options())
    dialog.next["s"] += 1
    dialog.ack(trip, "c")


@pytest.mark.parametrize("trip, count, pauses", [(60, 1, (47, 52)), (60, 300, (45, 110)),
                                                 (3.9, 300, (43.2, 49.5))])
def test_a_far_applications_pauses_are_no_stall(tmp_path, trip, count, pauses):
    """Seen at the receiver: data that follows the acknowledgement sooner than a round trip is chance, and so
    is data at a varying delay within the allowed range."""
    dice = random.Random(12)
    dialog = Dialog(at=None)
    arrives(dialog, trip * MS)
    for i in range(count):
        own = dice.uniform(*pauses) * MS
        dialog.data(1 + i, "c", 200)
        dialog.ack(1 + i + 43 * MS, "s")
        dialog.data(1 + i + own, "c", 100)
        dialog.data(1 + i + own + 1 * MS, "s", 250)
        dialog.ack(1 + i + own + (trip + 1) * MS, "c")
    assert judged(tmp_path, dialog.capture)["stalls"] == 0


def test_the_handshake_tells_who_serves_and_sequence_numbers_wrap(tmp_path):
    """A client's port may be the smaller one."""
    found = judged(tmp_path, stalls(ports=(2000, 30000), start=(2**32 - 500, 2**32 - 300)))
    assert [(w["side"], w["service"]) for w in found["writers"]] == [("client", "192.0.2.2:30000")]
    assert found["stalls"] == 20


def narrow(dialog, time, _):
    """A path narrower than announced: segments of 1400 where 1460 were announced count as full."""
    for i in range(10):
        dialog.data(time + i * 10e-6, "c", 1400)
    dialog.ack(time + 0.2 * MS, "s")
    dialog.data(time + 1.1 * MS, "s", 100)
    dialog.stall(time + 5.1 * MS)


def cut_by_the_card(dialog, time, _):
    """Captured before segmentation, a large one's IP length may be 0."""
    dialog.data(time, "s", 70000, length=0)
    dialog.stall(time + 10 * MS)


@pytest.mark.parametrize("build", [narrow, cut_by_the_card])
def test_the_stall_behind_large_segments_is_seen(tmp_path, build):
    assert judged(tmp_path, exchanges(build))["stalls"] == 20


def test_ports_used_again_are_another_connection(tmp_path):
    capture = Capture()
    for i in range(3):
        dialog = Dialog(capture, at=i, start=(1000 + 70000 * i, 5000 + 90000 * i))
        dialog.stall(i + 0.1)
        dialog.packet(i + 0.9, "c", FIN | ACK)
    found = judged(tmp_path, capture)
    assert (found["connections"], found["stalls"]) == (3, 3)
    assert found["writers"][0]["connections"] == 3


def test_a_slow_start_is_the_applications_own(tmp_path):
    """Initialising TLS takes 750 ms between connect and the first data: no stall, and said to be none."""
    capture = Capture()
    for i in range(3):
        Dialog(capture, at=i, ports=(40000 + i, 443)).whole(i + (0.75 if i == 1 else 0.01))
    found = judged(tmp_path, capture)
    assert found["stalls"] == 0
    (note,) = found["notes"]
    assert "Not the network: 1 time the client was connected and silent for 749.9 ms" in note
    assert "192.0.2.1:40001" in note


def test_a_stream_that_nobody_answers_is_told_apart(tmp_path):
    found = judged(tmp_path, stalls(how=lambda _: {"answer": None}))
    assert (found["verdict"]["kind"], found["stalls"]) == ("too-few", 0)
    assert (found["writers"][0]["one_way"], found["writers"][0]["stalls"]) == (True, 20)


@pytest.mark.parametrize("times, words", [(1, "1 packet is cut"), (2, "2 packets are cut")])
def test_what_is_left_out_beside_a_verdict_is_a_note(tmp_path, times, words):
    """It said "1 packets are"."""
    capture = stalls()
    time, frame, length = capture.ordered()[-1]
    packets = [*capture.ordered(), *[(time, frame[:40], length)] * times]
    found = judged(tmp_path, capture, packets=packets)
    assert found["verdict"]["kind"] == "stalls" and found["notes"][-1].startswith(words)


CLIENT, RELAY, SERVER = "192.0.2.1", "192.0.2.30", "192.0.2.40"


@pytest.mark.parametrize("side", "cs")
@pytest.mark.parametrize("host, sizes, answer, told", [
    (RELAY, (200, 100), 0.5, True), ("192.0.2.31", (200, 100), 0.5, False), (RELAY, (200, 99), 0.5, False),
    (RELAY, (200, 100), 1, False)], ids=["relay", "another host", "other sizes", "clients in step"])
def test_what_a_relay_passes_on_counts_once(tmp_path, side, host, sizes, answer, told):
    """A relay with TCP_NODELAY was said to write in pieces, and each stall through it counted twice."""
    capture = Capture()
    ends = [(CLIENT, RELAY), (host, SERVER)]
    for behind, (client, server) in enumerate(ends if side == "c" else ends[::-1]):
        Dialog(capture, client=client, server=server, ports=(40000 + behind, 80 + behind)).stalls(
            20, side=side, first=0.1 + behind * 200e-6, sizes=sizes if behind else (200, 100),
            answer=(answer if behind else 1) * MS)
    found = judged(tmp_path, capture)
    assert (found["stalls"], len(found["writers"])) == ((20, 1) if told else (40, 2))
    note = r"20 stalls \(.* and others\) came within those of a connection that the same host reads from, "
    assert any(re.match(note, text) for text in found["notes"]) == told, found["notes"]


def test_a_connection_that_begins_with_data_is_read(tmp_path):
    """Fast open; it was a crash."""
    dialog = Dialog(at=None)
    dialog.packet(0.01, "c", SYN, 100)
    dialog.next["c"] += 101
    assert judged(tmp_path, dialog.stalls(20).capture)["stalls"] >= 19  # the first lies behind a hole


@pytest.mark.parametrize("side", "cs")
@pytest.mark.parametrize("at", [0, None], ids=["from its beginning", "later"])
def test_what_is_captured_before_and_after_a_translation_of_addresses_counts_once(tmp_path, at, side):
    """On a host of containers `tcpdump -i any` has each packet with both addresses: stalls counted twice."""
    capture = Capture()
    for behind, (server, port) in enumerate([(SERVER, 8080), ("10.88.0.2", 80)]):
        Dialog(capture, at=at, server=server, ports=(40000, port), start=(7, 77)).stalls(
            20, side=side, first=0.2 + behind * 30e-6)
    found = judged(tmp_path, capture)
    assert (found["stalls"], found["connections"], found["verdict"]["exchanges"]) == (20, 1, 19)
    told = [note for note in found["notes"] if "captured under other addresses" in note]
    assert len(told) == 1


def test_packets_missing_from_the_capture_make_no_stall(tmp_path):
    """The kernel drops packets when tcpdump is too slow."""
    dice = random.Random(5)
    capture = exchanges(played("written under nodelay"), 300)
    capture.packets = [p for p in capture.packets if dice.random() > 0.2]
    assert judged(tmp_path, capture)["stalls"] == 0
    capture = stalls(300)
    capture.packets = [p for p in capture.packets if dice.random() > 0.05]
    found = judged(tmp_path, capture)
    assert 0.75 * 300 <= found["stalls"] <= 300
    assert re.match(r"At \d+ places data is missing in this capture", found["notes"][-1])


def lost_before_the_capture(dialog, time, _):
    """As the receiver sees it: the first of two comes second."""
    dialog.next["c"] += 400
    dialog.packet(time, "c", PUSH | ACK, 100)
    dialog.packet(time + 1 * MS, "s", ACK)
    dialog.packet(time + 210 * MS, "c", PUSH | ACK, 400, seq=dialog.next["c"] - 400)
    dialog.next["c"] += 100
    dialog.data(time + 211 * MS, "s", 250)


def test_packets_lost_by_the_network_are_not_missing_from_the_capture(tmp_path):
    found = judged(tmp_path, exchanges(lost_before_the_capture))
    assert not any("missing" in note for note in found["notes"])


@pytest.mark.parametrize("snap", [54, 58, 60, 62])
def test_a_window_whose_scale_was_cut_is_not_known(tmp_path, snap):
    """The SYN was there and its options were not: each window was taken as a 128th of itself."""
    dialog = Dialog(at=None)
    dialog.window = {"c": 65535, "s": 65535}
    dialog.handshake(0.001)
    dialog.window = {"c": 60, "s": 60}
    capture = dialog.stalls(20, first=1, apart=1).capture
    whole, cut = judged(tmp_path, capture), judged(tmp_path, capture, snap=snap)
    assert whole["stalls"] == cut["stalls"] == 20


def test_rows_by_writer_and_service(tmp_path):
    """The costliest first; all of them are in the JSON, ten in the report."""
    capture = Capture()
    for i in range(30):
        Dialog(capture, at=i, client=f"192.0.2.{i + 10}", ports=(40000 + i, 80 + i % 2)).stalls(
            i + 1, first=i + 0.1)
    found = judged(tmp_path, capture)
    assert [writer["stalls"] for writer in found["writers"]] == list(range(30, 0, -1))
    text = unstall("explain", tmp_path / "capture.pcap", check=True).stdout
    assert "and 20 more" in text


def test_more_writers_than_rows(tmp_path):
    capture = Capture()
    for i in range(700):
        Dialog(capture, at=i, client=f"10.0.{i // 200}.{i % 200 + 1}").stall(i + 0.1)
    found = judged(tmp_path, capture)
    assert found["stalls"] == 700
    assert len(found["writers"]) == 513
    assert [w["stalls"] for w in found["writers"] if w["writer"] == "others"] == [188]


@pytest.mark.parametrize("ng", [False, True], ids=["pcap", "pcapng"])
def test_a_capture_without_packets_is_told_to_be_one(tmp_path, ng):
    """The wrong interface or port: no word, the exit code 0, and "unreadable" without an error in JSON."""
    path = tmp_path / "none.pcap"
    path.write_bytes(Capture().pcapng() if ng else Capture().pcap())
    told = ("Cannot tell: there is no packet in this capture. Was it made on the right interface "
            "(tcpdump -i any), for the right port, and while the programs talked?")
    for form in ([], ["--ladder"], ["--html", "-"]):
        done = unstall("explain", *form, path, check=True)
        assert told in " ".join(done.stdout.split())
    found, = json.loads(unstall("explain", "--json", path, check=True).stdout)
    verdict = found["verdict"]
    assert (verdict["kind"], verdict["sentence"], found["error"]) == ("cannot-tell", told, None)


def test_several_files(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(published().pcap())
    done = unstall("explain", "--json", tmp_path / "a", tmp_path / "missing", tmp_path / "b")
    assert done.returncode == 125
    assert [file["stalls"] for file in json.loads(done.stdout)] == [1, 1]
    assert "missing: No such file or directory" in done.stderr
