# SPDX-License-Identifier: MIT
"""httpd of Erlang's inets sends header and file by two sends (gen_tcp has {nodelay, false} by default)."""

from runner import Affected, Victim, run_http_server

EXCHANGES = 15
BODY = b"a small file\n" * 20
_START = """inets:start(), {{ok, _}} = inets:start(httpd, [{{port, {port}}}, {{bind_address, {{127,0,0,1}}}},
 {{server_name, "localhost"}}, {{server_root, "{root}"}}, {{document_root, "{root}"}}, {{keep_alive, true}},
 {{keep_alive_timeout, 60}}, {{max_keep_alive_request, 10000}}]), io:put_chars("serves")."""


def measure(treatment, scratch):
    files = scratch / "files"
    files.mkdir()
    (files / "small.txt").write_bytes(BODY)

    own = ["-kernel", "inet_default_listen_options", "[{nodelay,true}]"] if treatment.own else []

    # inets listens before it has read its configuration, and answers 500 until then.
    def command(port):
        return ["erl", "-noshell", "-noinput", "+S", "1", *own, "-eval", _START.format(port=port, root=files)]

    def emulator(server):
        for pid in server.processes():
            with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                if name.read().startswith("beam"):
                    return pid
        raise AssertionError("no Erlang emulator")

    return run_http_server(treatment, scratch, command, EXCHANGES, "/small.txt", BODY, pid=emulator,
                           ready="serves", HOME=scratch)


VICTIM = Victim(
    sick="server",
    needs=("erl",),
    packages=("erlang-inets",),
    measure=measure,
    segments={"nodelay": 2, "cork": 2, "coalesce": 2, "auto": 2},
    affected=Affected(
        software="Erlang/OTP, httpd of inets",
        package="erlang-inets",
        own="`erl -kernel inet_default_listen_options '[{nodelay,true}]'`",
        source="Send header and file in one call.",
        measured=True,
        observe="erl ...",
        words=("inets:start",),
    ),
)
