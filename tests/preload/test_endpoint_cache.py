# SPDX-License-Identifier: MIT
"""Later connections of an endpoint start with the facts of earlier ones, from their
first message on (auto)."""

import pytest

from harness import (WIDE, AnsweringPeer, least, program, read_reports, report_pattern, request_all,
                     run_client, started_server, total)

CONNECTIONS = 10  # of server_one_each


def test_a_server_answers_on_a_new_connection_in_one_segment(tmp_path):
    with started_server([program("server_one_each")], "auto", **WIDE,
                        UNSTALL_REPORT=report_pattern(tmp_path)) as (_, port):
        for _ in range(CONNECTIONS):
            assert len(request_all(port, 1).received) == 300
    reports = read_reports(tmp_path)
    assert total(reports, "late_pushes") == 1  # on the first one
    sent_again = 2  # by a busy machine that acknowledges late
    assert 0 <= total(reports, "segments") - 2 - (CONNECTIONS - 1) <= sent_again


@pytest.mark.parametrize("mode, segments", [("auto", 1), ("nodelay", 2)])
def test_a_client_writes_on_a_new_connection_in_one_segment(mode, segments):
    def most():
        with AnsweringPeer() as peer:
            done = run_client(program("client_one_each"), mode, *peer.target, CONNECTIONS, **WIDE)
        assert all(len(connection.received) == 300 for connection in peer.connections)
        return done.facts["segments"]

    assert least(most, segments + 1) == segments  # of nine connections one may be sent again or late
