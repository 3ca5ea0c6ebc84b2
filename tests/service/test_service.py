# SPDX-License-Identifier: MIT
"""unstall enable, disable and status, with a real systemd: services are cured, and are as before afterwards.

One container for all cases; each case has units and ports of its own.
"""

import json
import os
import re
import shutil
import struct
import time

import pytest
from container import LIBRARY, TESTER, UNSTALL, Container

from harness import SOURCE_ROOT, patiently, skip, wait_until

STALLS_MS = 20  # half of a stall

WEB = "[Service]\nExecStart=/usr/bin/python3 -S /opt/programs/web.py {port}\n"
DROPIN = "/etc/systemd/system/{}.d/50-unstall.conf"


@pytest.fixture(name="c", scope="module")
def a_container():
    if not Container.possible():
        skip("systemd-nspawn needs root")
    with Container() as container:
        yield container


@pytest.fixture(name="broken")
def a_systemctl_that_cannot_reload(c):
    """PATH of a systemctl whose daemon-reload fails; all else is the real one's."""
    c.write("/opt/broken/systemctl", "#!/bin/sh\n"
            "case \"$*\" in *daemon-reload*) echo no memory >&2; exit 1;; esac\n"
            "exec /usr/bin/systemctl \"$@\"\n", 0o755)
    return {"PATH": "/opt/broken:/usr/sbin:/usr/bin"}


def started(c, name, text):
    c.load(name, text)
    if "@." not in name:
        c.systemctl("start", name)


def stalls(c, port):
    """By two equal judgements: a busy machine may hide a stall, or keep a prompt answer."""
    first, second = (c.exchange_ms(port) > STALLS_MS for _ in range(2))
    return first if first == second else c.exchange_ms(port) > STALLS_MS


def dropin(c, unit):
    return c.path(DROPIN.format(unit))


def status(c, *words, **more):
    """What it says, as one line: it is wrapped."""
    return " ".join(c.unstall("status", *words, check=False, **more).stdout.split())


def comes_to_say(c, wanted, unit):
    """A daemon makes its workers after systemd counts it as started."""
    assert wait_until(lambda: wanted in status(c, unit)), status(c, unit)


def in_json(c, *words):
    """The units that status --json tells; it is valid, and its exit code that of the text."""
    done = c.unstall("status", "--json", *words, check=False)
    assert (done.returncode, done.stderr) == (c.unstall("status", *words, check=False).returncode, "")
    return json.loads(done.stdout)["units"]


def nothing_left(c, unit):
    """No file, no folder, and systemd knows of none."""
    assert not dropin(c, unit).parent.exists()
    shown = c.systemctl("show", "-p", "DropInPaths", "-p", "Environment", unit.replace("@.", "@x.")).stdout
    assert "50-unstall" not in shown and "libunstall" not in shown


# ---- services --------------------------------------------------------------

def test_a_server_that_stalls_is_cured_and_stalls_again_when_it_is_undone(c):
    started(c, "web.service", WEB.format(port=8101))
    assert stalls(c, 8101)

    said = c.unstall("enable", "web").stdout
    assert f'Environment="LD_PRELOAD={LIBRARY}"' in said
    assert "now: systemctl restart web.service" in said
    assert stalls(c, 8101), "nothing is restarted without --restart"
    assert "the library is loaded in 0 of 1 process: not before its next start" in \
        status(c, "web")

    said = c.unstall("enable", "web", "--restart", "--stats", "--mode", "nodelay").stdout
    assert said.endswith("to watch: unstall status web.service; unstall top web.service\n"
                         "to undo:  unstall disable --restart web.service\n")
    assert not stalls(c, 8101)
    assert c.loaded(c.main_pid("web"))
    said = status(c, "web")
    assert "mode nodelay" in said
    assert "loaded in 1 of 1 process" in said
    assert re.search(r"stalls Cured: up to \d+ messages at 127.0.0.1:8101 would have stalled", said)
    (unit,) = in_json(c, "web")
    assert (unit["unit"], unit["user"]) == ("web.service", False)
    since = unit["drop_in"].pop("since")
    assert since == int(dropin(c, "web.service").stat().st_mtime)
    assert unit["drop_in"] == {"path": DROPIN.format("web.service"), "mode": "nodelay", "changed": False}
    (running,) = unit["running"]
    assert {key: running[key] for key in ("unit", "state", "mode")} == \
        {"unit": "web.service", "state": "active", "mode": "nodelay"}
    assert (running["processes"], running["with_library"], running["not_inspected"]) == (1, 1, 0)
    assert running["verdict"]["kind"] == "none" and running["verdict"]["sentence"].startswith("Cured: ")

    c.unstall("disable", "web", "--restart")
    assert stalls(c, 8101)
    assert "No such file" in c.run("ls", "/run/unstall", check=False).stderr
    assert not c.loaded(c.main_pid("web"))
    nothing_left(c, "web.service")
    assert c.unstall("status", "web", check=False).returncode == 1
    (unit,) = in_json(c, "web")
    assert unit["drop_in"] is None
    assert unit["running"][0]["with_library"] == 0 and unit["running"][0]["verdict"] is None
    assert in_json(c) == []


def test_a_service_that_has_just_been_started_is_waited_for(c):
    """systemctl returns before the exec: "loaded in 0 of 1 process: not before its next start"."""
    c.run("mkfifo", "/run/late")  # systemd opens it before the exec, and waits for a writer
    c.load("late.service", WEB.format(port=8140) + "StandardInput=file:/run/late\n")
    c.unstall("enable", "late", "--stats")
    c.systemctl("start", "late.service")
    writer = c.popen("sh", "-c", "sleep 0.5; exec 3<>/run/late; exec sleep 10")
    try:
        assert "the library is loaded in 1 of 1 process" in status(c, "late")
    finally:
        writer.kill()
        writer.wait()
        c.unstall("disable", "late", "--restart", check=False)


def test_status_says_only_what_it_knows(c):
    """To an ordinary user it said "no process has the library" of one that has it; and of a failed unit, and
    of one whose mode is off now, that all is in force (0)."""
    started(c, "web.service", WEB.format(port=8131))
    c.unstall("enable", "web", "--restart", "--stats")
    assert c.unstall("status", "web", check=False).returncode == 0
    done = c.unstall("status", "web", check=False, user=TESTER)
    said = " ".join(done.stdout.split())
    assert "runs 1 process, which may not be inspected; run this as root" in said
    assert "stalls not known" in said
    assert "no process has the library" not in said and done.returncode == 1
    assert c.unstall("report", "web.service", check=False).stdout.startswith("python3")
    assert "no statistics" not in c.unstall("top", "--once", "web").stdout
    assert "it had --stats before, and has no statistics now\n" in c.unstall("enable", "web").stdout
    assert "had --stats" not in c.unstall("enable", "web", "--stats").stdout
    c.unstall("set", "web", "off", "--wait", "0")
    assert not stalls(c, 8131) or "now mode off" in status(c, "web")
    assert wait_until(lambda: "now mode off" in status(c, "web"))
    assert c.unstall("status", "web", check=False).returncode == 1
    c.run("kill", "-SEGV", str(c.main_pid("web")))
    assert wait_until(lambda: "(failed)" in status(c, "web"))
    assert c.unstall("status", "web", check=False).returncode == 1


def test_nginx_as_debian_has_it(c):
    """A daemon that forks, changes its user, and has processes of several kinds."""
    c.path("/var/log/nginx").mkdir()
    c.path("/var/lib/nginx").mkdir()
    c.write("/etc/nginx/nginx.conf", "user www-data;\nworker_processes 2;\npid /run/nginx.pid;\n"
            "events {}\nhttp { server { listen 127.0.0.1:8102; location / { return 200 hello; } } }\n")
    c.systemctl("start", "nginx")
    c.unstall("enable", "nginx", "--restart", "--stats")
    assert not stalls(c, 8102)
    comes_to_say(c, "the library is loaded in 3 of 3 processes", "nginx")
    c.systemctl("reload", "nginx")
    c.unstall("disable", "nginx.service", "--restart")
    comes_to_say(c, "loaded in 0 of 3", "nginx")
    nothing_left(c, "nginx.service")


def test_a_socket_activated_service(c):
    c.unit("lazy.socket", "[Socket]\nListenStream=127.0.0.1:8103\n")
    started(c, "lazy.service", WEB.format(port="activated"))
    c.systemctl("stop", "lazy.service")
    c.systemctl("start", "lazy.socket")
    refused = c.unstall("enable", "lazy.socket", check=False)
    assert refused.stderr == ("unstall enable: lazy.socket: is a socket, which has no process; "
                              "name its service: lazy.service\n")
    said = c.unstall("enable", "lazy").stdout
    assert "enabled for lazy.service from its next start\n" in said
    assert said.endswith("to watch: unstall status lazy.service\nto undo:  unstall disable lazy.service\n")
    assert not stalls(c, 8103)
    c.unstall("disable", "lazy", "--restart")
    assert stalls(c, 8103)
    c.systemctl("stop", "lazy.socket")


def test_a_template_and_one_of_its_instances(c):
    started(c, "many@.service", WEB.format(port="%i"))
    c.systemctl("start", "many@8104", "many@8105")

    c.unstall("enable", "many@8104", "--restart")
    assert (stalls(c, 8104), stalls(c, 8105)) == (False, True)
    c.unstall("disable", "many@8104", "--restart")

    done = c.unstall("enable", "many@.service", "--restart", "--stats")
    assert "is a template" in done.stderr
    assert (stalls(c, 8104), stalls(c, 8105)) == (False, False)
    assert c.unstall("status", "many@8104").returncode == 0
    assert status(c).count("loaded in 1 of 1 process") == 2
    assert [one["unit"] for one in in_json(c)[0]["running"]] == ["many@8104.service", "many@8105.service"]
    assert c.run("ls", "/run/unstall").stdout.split() == ["many@8104", "many@8105"]

    c.unstall("disable", "many@.service", "--restart")
    assert (stalls(c, 8104), stalls(c, 8105)) == (True, True)
    nothing_left(c, "many@.service")


MANAGER = f"""[Service]
Type=notify
User=tester
Delegate=yes
Environment=XDG_RUNTIME_DIR=/run/user/{TESTER} HOME=/home/tester
ExecStartPre=+/usr/bin/install -d -o tester -m 700 /run/user /run/user/{TESTER}
ExecStart=/lib/systemd/systemd --user
"""


@pytest.mark.parametrize("where", [[], ["--runtime"]], ids=["kept", "runtime"])
def test_a_unit_of_a_users_own_systemd(c, where):
    mine = {"user": TESTER, "env": {"XDG_RUNTIME_DIR": f"/run/user/{TESTER}", "HOME": "/home/tester"}}
    c.write("/home/tester/.config/systemd/user/mine.service", WEB.format(port=8106))
    c.run("chown", "-R", f"{TESTER}:{TESTER}", "/home/tester/.config")
    started(c, "manager.service", MANAGER)
    c.run("systemctl", "--user", "start", "mine", **mine)
    assert stalls(c, 8106)
    hint = c.unstall("enable", "mine", check=False, **mine).stderr
    assert hint == "unstall enable: mine.service: is a unit of your own systemd; add --user\n"
    c.unstall("enable", "--user", "mine", "--stats", "--restart", *where, **mine)
    assert not stalls(c, 8106)
    assert "loaded in 1 of 1 process" in status(c, "--user", **mine)
    hint = c.unstall("enable", "--user", "manager", check=False, **mine).stderr
    assert hint == "unstall enable: manager.service: is a unit of the system; leave out --user\n"
    c.unstall("disable", "--user", "mine", "--restart", **mine)
    assert stalls(c, 8106)
    assert not list(c.path("/home/tester/.config/systemd/user").glob("*.d"))
    c.systemctl("stop", "manager.service")


SANDBOX = """[Service]
ExecStart=/usr/bin/python3 -S /opt/programs/web.py 8107
DynamicUser=yes
NoNewPrivileges=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6
LockPersonality=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProcSubset=pid
ProtectClock=yes
ProtectHostname=yes
ProtectControlGroups=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
PrivateIPC=yes
KeyringMode=private
UMask=0077
"""


@pytest.mark.parametrize("mode", ["auto", "cork"])
def test_a_unit_with_every_option_of_the_sandbox(c, mode):
    started(c, "boxed.service", SANDBOX)
    assert stalls(c, 8107)
    done = c.unstall("enable", "boxed", "--restart", "--stats", "--runtime", "--mode", mode)
    assert done.stdout.startswith("/run/systemd/system/boxed.service.d/50-unstall.conf:\n")
    assert not stalls(c, 8107)
    assert "Cured: " in status(c, "boxed")
    c.unstall("disable", "boxed", "--restart")
    assert stalls(c, 8107)
    assert "No such file" in c.run("ls", "/run/systemd/system/boxed.service.d", check=False).stderr
    c.systemctl("stop", "boxed")


# ---- what is written ---------------------------------------------------------

def test_a_dry_run_writes_nothing(c):
    c.load("dry.service", WEB.format(port=8110))
    said = c.unstall("enable", "dry", "--dry-run", "--ports", "80,!443", "--quickack", "auto",
                     user=TESTER).stdout
    assert said.startswith(DROPIN.format("dry.service") + ":\n")
    assert '    Environment="UNSTALL_PORTS=80,!443"\n' in said
    assert '    Environment="UNSTALL_QUICKACK=auto"\n' in said
    nothing_left(c, "dry.service")
    c.unstall("enable", "dry")
    assert "would remove" in c.unstall("disable", "dry", "--dry-run").stdout
    assert dropin(c, "dry.service").exists()
    c.unstall("disable", "dry")


def test_values_keep_their_percent_signs_and_quotes(c):
    c.unit("odd.service", WEB.format(port=8111))
    c.unstall("enable", "odd", "--report", '/tmp/a "b" \\ %p.json')
    environment = c.systemctl("show", "-P", "Environment", "odd").stdout
    refused = c.unstall("enable", "odd", "--log", "/tmp/a\nb", check=False).stderr
    assert "has a control character, which a unit cannot express" in refused
    assert r'"UNSTALL_REPORT=/tmp/a \"b\" \\ %p.json"' in environment
    c.unstall("disable", "odd")


def test_a_library_of_each_word_size_is_named_by_one_entry(c):
    """$LIB stands for the linker's own folder; systemd passes it on as it is.  The 32-bit library here has no
    more than headers: no 32-bit program runs in this test."""
    if not os.path.exists("/lib/ld-linux.so.2"):
        skip("libc6-i386 is not installed")
    for folder in ("lib/x86_64-linux-gnu", "lib32"):
        c.path(f"/opt/both/{folder}").mkdir(parents=True)
    c.copy(c.path(LIBRARY), "/opt/both/lib/x86_64-linux-gnu/libunstall.so")
    c.path("/opt/both/lib32/libunstall.so").write_bytes(
        struct.pack("<16s2H5I6H", b"\x7fELF\1\1\1", 3, 3, 1, 0, 52, 0, 0, 52, 32, 0, 40, 0, 0))
    started(c, "both.service", WEB.format(port=8131))
    c.unstall("enable", "both", "--restart", "--library", "/opt/both/lib/x86_64-linux-gnu/libunstall.so")
    assert c.systemctl("show", "-P", "Environment", "both").stdout == \
        r'"LD_PRELOAD=/opt/both/\$LIB/libunstall.so"' + "\n"
    assert not stalls(c, 8131)
    assert "loaded in 1 of 1 process" in status(c, "both")
    c.unstall("disable", "both", "--restart")


def test_a_preload_of_the_unit_is_kept_before_the_library(c):
    own = "/opt/own.so"
    c.load("merge.service", WEB.format(port=8112) + f"Environment=FOO=1 LD_PRELOAD={own}\n")
    for _ in range(2):  # enabled again, it is not there twice
        done = c.unstall("enable", "merge")
        assert f"has LD_PRELOAD={own}" in done.stderr
        assert c.systemctl("show", "-P", "Environment", "merge").stdout == \
            f"FOO=1 LD_PRELOAD={own}:{LIBRARY}\n"
    c.unstall("disable", "merge")
    assert c.systemctl("show", "-P", "Environment", "merge").stdout == f"FOO=1 LD_PRELOAD={own}\n"


def test_a_preload_of_all_units_is_kept_too(c):
    c.load("all.service", WEB.format(port=8123))
    c.systemctl("set-environment", "LD_PRELOAD=/opt/all.so")
    try:
        assert f'"LD_PRELOAD=/opt/all.so:{LIBRARY}"' in c.unstall("enable", "all", "--dry-run").stdout
    finally:
        c.systemctl("unset-environment", "LD_PRELOAD")


def test_a_drop_in_that_was_changed_by_hand_stays_without_force(c):
    c.unit("hand.service", WEB.format(port=8113))
    c.unstall("enable", "hand")
    file = dropin(c, "hand.service")
    changed = file.read_text() + "Environment=MINE=1\n"
    file.write_text(changed)
    for words in (["disable", "hand"], ["disable", "--all"], ["enable", "hand"]):
        done = c.unstall(*words, check=False)
        assert done.returncode == 125
        assert (f"{DROPIN.format('hand.service')}: was changed by hand, or is not from unstall enable"
                in done.stderr)
        assert file.read_text() == changed
    assert "(changed by hand)" in status(c, "hand")
    c.unstall("disable", "hand", "--force")
    assert not file.exists()


def test_a_folder_that_was_there_or_has_other_files_stays(c):
    for name, before, after in (("other.service", True, False), ("others.service", False, True)):
        c.unit(name, WEB.format(port=8114))
        folder = dropin(c, name).parent
        if before:
            folder.mkdir()
        c.unstall("enable", name)
        if after:
            (folder / "mine.conf").write_text("[Service]\n")
        c.unstall("disable", name)
        assert [file.name for file in folder.iterdir()] == (["mine.conf"] if after else [])


def test_all_are_disabled_also_of_units_that_are_gone(c):
    for name, options in (("one.service", []), ("gone.service", []), ("passed.service", ["--runtime"])):
        c.unit(name, WEB.format(port=8115))
        c.unstall("enable", name, *options)
    c.path("/etc/systemd/system/gone.service").unlink()
    hidden = c.unstall("enable", "one", "--runtime", check=False)
    assert "one of the same name in a folder before it" in hidden.stderr
    (dropin(c, "one.service").parent / ".50-unstall.conf.new").write_text("of a command that was killed")
    said = c.unstall("disable", "--all").stdout
    assert said.count("removed ") == 3
    assert not list(c.path("/etc/systemd/system").glob("*.d/*unstall*"))
    assert not dropin(c, "one.service").parent.exists()
    assert c.unstall("disable", "--all").stdout == "no unit has a drop-in of unstall\n"
    assert " ".join(c.unstall("status").stdout.split()).startswith("nothing is cured here by unstall: ")


def test_the_settings_of_the_machine(c):
    """By unit, template and program; after the options and the unit's own environment."""
    c.unit("conf@.service", WEB.format(port="%i") + "Environment=UNSTALL_SMALL=5\n")
    c.write("/etc/unstall.conf", "UNSTALL_WINDOW_US=700\nUNSTALL_SMALL=9\nUNSTALL_VERBOSE=1\n"
            "[python3]\nUNSTALL_MODE=off\n[conf@.service]\nUNSTALL_MODE=nodelay\n"
            "[conf@1.service]\nUNSTALL_PORTS=80\n[other.service]\nUNSTALL_PORTS=81\n")
    for _ in range(2):
        said = c.unstall("enable", "conf@1", "--verbose", "0").stdout
        shown = c.systemctl("show", "-P", "Environment", "conf@1").stdout.split()
        assert sorted(word for word in shown if word.startswith("UNSTALL_")) == [
            "UNSTALL_MODE=nodelay", "UNSTALL_PORTS=80", "UNSTALL_SMALL=5", "UNSTALL_VERBOSE=0",
            "UNSTALL_WINDOW_US=700"]
    assert '    # from /etc/unstall.conf:7\n    Environment="UNSTALL_MODE=nodelay"\n' in said
    c.unstall("disable", "conf@1")
    c.write("/etc/unstall.conf.d/bad.conf", "\nUNSTALL_MODE=fast\n")
    done = c.unstall("enable", "conf@1", check=False)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.startswith("unstall enable: /etc/unstall.conf.d/bad.conf:2: UNSTALL_MODE=fast: ")
    assert not dropin(c, "conf@1.service").parent.exists()
    c.unstall("enable", "conf@1", "--conf", "/dev/null", "--dry-run")
    c.path("/etc/unstall.conf").unlink()
    c.path("/etc/unstall.conf.d/bad.conf").unlink()


def test_the_page_on_deployment(c):
    """Each block of its section on systemd, in their order, with a service that stalls."""
    section = (SOURCE_ROOT / "docs/deploy.md").read_text().split("\n## systemd\n")[1].split("\n## ")[0]
    blocks = ["\n".join(lines.split("\n    ")) for lines in
              re.findall(r"(?<=\n\n)    (.*(?:\n    .*)*)", section)]
    assert len(blocks) == 6
    c.unit("worker@.service", WEB.format(port="%i"))
    started(c, "app.service", WEB.format(port=8130))
    said = []
    for block in blocks:
        client = c.popen("/usr/bin/python3", "-S", "/opt/programs/client.py", 8130, 20, "endless")
        try:
            said.append(c.run("sh", "-ec", block, env={"PATH": "/opt/unstall:/usr/sbin:/usr/bin"}).stdout)
        finally:
            client.kill()
            client.wait()
        cured = c.loaded(c.main_pid("app"))
        assert stalls(c, 8130) is not cured
        assert cured is (block not in (blocks[0], blocks[-1]))
    assert "loaded in 1 of 1 process" in " ".join(said[1].split())
    assert "Cured: " in said[2] and "unstall_" in said[2]
    assert c.systemctl("show", "-P", "Environment", "worker@2").stdout == "\n"
    assert "from /etc/unstall.conf:2" in said[4]
    assert said[-1].endswith("run under the supervisor, no attachment\n")
    c.path("/etc/unstall.conf").unlink()


# ---- what is refused ---------------------------------------------------------

# text of the unit, options of enable -> what is said
REFUSED = {
    "static": ("ExecStart=/opt/static", [],
               "/opt/static: it is statically linked (static-pie), so nothing can be preloaded; unstall "
               "attach --detach --unit refused-static.service cures it until its next restart; "
               "ExecStart=unstall run -- /opt/static in a drop-in of yours for good (--force enables it "
               "anyway)"),
    "go": ("ExecStart=/opt/gofmt -l", [],
           "/opt/gofmt: it is written in Go, which makes network calls without libc; unstall attach --detach "
           "--unit refused-go.service cures it "),
    "setuid": ("User=tester\nExecStart=/opt/setuid", [], "/opt/setuid: it is setuid to root"),
    "sudo": ("ExecStart=/opt/sudo x", [], "/opt/sudo: sudo drops LD_PRELOAD"),
    "missing": ("ExecStart=/opt/none", [], "its program /opt/none: No such file or directory"),
    "hidden": ("ExecStart=/usr/bin/sleep 1\nInaccessiblePaths=/opt/unstall", [],
               "it cannot load {lib}, by its InaccessiblePaths=; install the library below /usr"),
    "empty": ("ExecStart=/usr/bin/sleep 1\nTemporaryFileSystem=/opt:ro", [], "by its TemporaryFileSystem="),
    "home": ("ExecStart=/usr/bin/sleep 1\nProtectHome=yes", ["--library", "/root/libunstall.so"],
             "it cannot load /root/libunstall.so, by its ProtectHome="),
    "noexec": ("ExecStart=/usr/bin/sleep 1\nNoExecPaths=/\nExecPaths=/usr", [], "by its NoExecPaths="),
    "unreadable": ("User=tester\nExecStart=/usr/bin/sleep 1", ["--library", "/root/libunstall.so"],
                   "its user may not read /root/libunstall.so (/root)"),
    "root": ("RootDirectory=/srv/root\nExecStart=/static", [],
             "/static: it is statically linked"),
    "root-library": ("RootDirectory=/srv/other\nExecStart=/sleep 1", [],
                     "it runs in RootDirectory=/srv/other, which has no {lib}; put a copy there"),
    "script": ("ExecStart=/opt/script", [],
               "/opt/script, run by /opt/static: it is statically linked"),
    "image": ("RootImage=/srv/image.raw\nExecStart=/usr/bin/sleep 1", [],
              "it runs in the image /srv/image.raw"),
    "calls": ("ExecStart=/usr/bin/sleep 1\nSystemCallFilter=~madvise", [],
              "its SystemCallFilter= forbids madvise, which the library calls; add SystemCallFilter=madvise"),
    "allowed": ("ExecStart=/usr/bin/sleep 1\nSystemCallFilter=@basic-io @file-system execve", [],
                "its SystemCallFilter= forbids "),
    "unset": ("ExecStart=/usr/bin/sleep 1\nUnsetEnvironment=LD_PRELOAD", [],
              "its UnsetEnvironment= removes LD_PRELOAD"),
    "file": ("ExecStart=/usr/bin/sleep 1\nEnvironmentFile=-/opt/environment", [],
             "its EnvironmentFile=/opt/environment sets LD_PRELOAD, which wins over a drop-in"),
    "shared": ("ExecStart=/usr/bin/sleep 1\nRuntimeDirectory=x\nRuntimeDirectoryMode=0770", ["--stats"],
               "--stats: its RuntimeDirectoryMode=0770 lets others write"),
    "nothing": ("Type=oneshot\nRemainAfterExit=yes\nExecStop=/usr/bin/true", [], "it has no ExecStart="),
}


HARMLESS = {
    "ExecStart=/opt/setuid\nNoNewPrivileges=yes\nUser=tester": [],
    "ExecStart=/usr/bin/sleep 1\nTemporaryFileSystem=/opt\nBindReadOnlyPaths=/opt/unstall": [],
    "ExecStart=/usr/bin/sleep 1\nRootDirectory=/srv/root\nBindReadOnlyPaths=/usr /opt/unstall": [],
    "ExecStart=/usr/bin/sleep 1\nSystemCallFilter=~@mount @reboot": ["--stats"],
    "ExecStart=/opt/static": ["--force"],
    "ExecStart=/in-root\nRootDirectory=/srv/root": [],
}


@pytest.fixture(name="specimens", scope="module")
def programs_for_refusals(c):
    c.write("/opt/environment", "A=1\nLD_PRELOAD=/x.so\n")
    for name in ("/root", "/srv/root/opt/unstall", "/srv/other"):
        c.path(name).mkdir(exist_ok=True, parents=True)
    c.copy("/usr/bin/sleep", "/srv/other/sleep")
    c.copy(c.path(LIBRARY), "/srv/root/opt/unstall/libunstall.so")
    c.write("/opt/script", "#!/opt/static\n", 0o755)
    c.write("/srv/root/in-root", "#!/opt/static\n", 0o755)
    for name in ("/opt/static", "/srv/root/static"):
        c.copy("/usr/sbin/ldconfig", name)  # the one static program that each Debian has
    for name in ("/opt/setuid", "/opt/sudo"):
        c.copy("/usr/bin/true", name)
    c.copy(shutil.which("gofmt") or skip("golang-go is not installed"), "/opt/gofmt")
    c.path("/opt/setuid").chmod(0o4755)
    c.path("/root").chmod(0o700)
    c.copy(c.path(LIBRARY), "/root/libunstall.so")
    for name, (text, _, _) in REFUSED.items():
        c.unit(f"refused-{name}.service", f"[Service]\n{text}\n")
    for number, text in enumerate(HARMLESS):
        c.unit(f"harmless-{number}.service", f"[Service]\n{text}\n")
    c.systemctl("daemon-reload")


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("specimens")
def test_a_unit_in_which_it_could_not_work_is_refused(c, name):
    _, options, words = REFUSED[name]
    done = c.unstall("enable", f"refused-{name}", *options, check=False)
    assert done.returncode == 125
    assert done.stdout == ""
    assert words.format(lib=LIBRARY) in done.stderr
    assert done.stderr.count("\n") == 1
    assert not dropin(c, f"refused-{name}.service").parent.exists()


@pytest.mark.usefixtures("specimens")
def test_what_would_be_refused_is_enabled_where_it_does_work(c):
    """The same options, with what makes them harmless.  A script of another root is enabled unseen."""
    said = [c.unstall("enable", f"harmless-{number}", *options).stderr
            for number, options in enumerate(HARMLESS.values())]
    for number, text in enumerate(HARMLESS):
        assert dropin(c, f"harmless-{number}.service").exists()
        assert ("not looked at" in said[number]) is ("in-root" in text)
    assert said[-1] == (f"unstall enable: harmless-{len(said) - 1}.service: /in-root: is a script, and the "
                        "interpreter in its #! line is not looked at in RootDirectory=/srv/root\n")
    c.unstall("disable", "--all")


BLIND = """import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(438, libc.syscall(434, libc.getpid(), 0), -1, 0)
print(ctypes.get_errno() != 9, flush=True)
"""


def test_a_supervisor_that_may_not_look_at_sockets_says_so(c):
    """The filter of systemd-nspawn refuses pidfd_getfd(2) to all services.  A program of Go kept its stall,
    because it sets TCP_NODELAY itself, and status and doctor called it cured."""
    c.write("/opt/blind.py", BLIND)
    c.load("blind.service", "[Service]\nStandardOutput=append:/run/blind\n"
           "StandardError=append:/run/blind-said\nExecStartPre=/usr/bin/python3 /opt/blind.py\n"
           f"ExecStart={UNSTALL} run --how seccomp -- /usr/bin/python3 -S /opt/programs/web.py 8142\n")
    c.systemctl("start", "blind")
    assert not stalls(c, 8142)  # it does not set the option itself
    blind = c.run("cat", "/run/blind").stdout.startswith("True")
    doctor = c.unstall("doctor", c.main_pid("blind"), check=False)
    for said, words in ((c.run("cat", "/run/blind-said").stdout, "forbids the supervisor to look at sockets"),
                        (status(c), "but those on which the program sets it itself"),
                        (" ".join(doctor.stdout.split()), "but not where it sets that itself")):
        assert (words in said) is blind, said
    assert ("cures it already" in doctor.stdout) is not blind
    c.systemctl("stop", "blind")


def test_names_that_are_none_and_units_that_cannot_be_enabled(c):
    c.unit("masked.service", WEB.format(port=1))
    c.path("/etc/systemd/system/masked.service").unlink()
    c.path("/etc/systemd/system/masked.service").symlink_to("/dev/null")
    c.unit("bad.service", "[Service]\nType=simple\n")
    c.write("/opt/generator", "#!/bin/sh\nprintf '[Unit]\\nSourcePath=/etc/source\\n[Service]\\n"
                              "ExecStart=/usr/bin/sleep 9\\n' >$1/generated.service\n", 0o755)
    c.write("/etc/systemd/system-generators/make", c.path("/opt/generator").read_text(), 0o755)
    c.systemctl("daemon-reload")
    c.run("systemd-run", "--unit=passing", "/usr/bin/sleep", "60")
    expected = {
        "none": "none.service: no such unit; systemctl list-units --type=service lists them",
        "masked": "masked.service: is masked and cannot start; first: systemctl unmask masked.service",
        "bad": "bad.service: systemd could not load it (bad-setting): ",
        "passing": "passing.service: is transient: ",
        "generated": "generated.service: is generated from /etc/source at each reload, maybe differently; "
                     "--force enables it all the same",
        "small.target": "small.target: is no service; expected NAME or NAME.service",
        "../etc/passwd": "../etc/passwd: is no name of a unit; expected one as in ",
        "a b": "a b: is no name of a unit; expected one as in ",
        "x" * 300: "is no name of a unit; ",
        "": "is no name of a unit; ",
    }
    for name, words in expected.items():
        done = c.unstall("enable", name, check=False)
        assert (done.returncode, done.stdout) == (125, "")
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
        assert not dropin(c, f"{name[:9]}.service").parent.exists()
    c.systemctl("stop", "passing")
    c.path("/etc/systemd/system/bad.service").unlink()
    c.unstall("enable", "generated", "--force")
    assert dropin(c, "generated.service").exists()
    c.unstall("disable", "generated")
    nothing_left(c, "generated.service")
    done = c.unstall("disable", "none", check=False)
    assert done.stderr == ("unstall disable: none.service: has no drop-in of unstall; unstall status lists "
                           "the units that have one\n")


def test_another_name_of_a_unit(c):
    c.unit("real.service", WEB.format(port=8116))
    c.path("/etc/systemd/system/alias.service").symlink_to("real.service")
    c.systemctl("daemon-reload")
    assert "alias.service is another name of real.service" in c.unstall("enable", "alias").stderr
    assert dropin(c, "real.service").exists()
    c.unstall("disable", "alias")
    nothing_left(c, "real.service")
    c.path("/etc/systemd/system/alias.service").unlink()


# ---- failures ----------------------------------------------------------------

def test_without_rights_nothing_is_written(c):
    c.load("rights.service", WEB.format(port=8117))
    done = c.unstall("enable", "rights", check=False, user=TESTER)
    assert done.returncode == 125
    assert done.stderr.endswith("Permission denied; run this as root\n")
    nothing_left(c, "rights.service")
    c.unstall("enable", "rights")
    done = c.unstall("disable", "rights", check=False, user=TESTER)
    assert done.returncode == 125
    assert done.stderr.endswith("Permission denied; run this as root\n")
    assert dropin(c, "rights.service").exists()
    c.unstall("disable", "rights")


def test_a_reload_that_fails_undoes_all(c, broken):
    c.load("reload.service", WEB.format(port=8118))
    done = c.unstall("enable", "reload", check=False, env=broken)
    assert done.returncode == 125
    assert done.stderr == ("unstall enable: systemctl daemon-reload: no memory\n"
                           "unstall enable: reload.service: all undone\n")
    nothing_left(c, "reload.service")
    c.unstall("enable", "reload", "--mode", "cork")
    before = dropin(c, "reload.service").read_text()
    assert c.unstall("enable", "reload", check=False, env=broken).returncode == 125
    assert dropin(c, "reload.service").read_text() == before
    c.unstall("disable", "reload")


# lines of a unit that does not like the library -> what is said first
PICKY = {
    "before": (WEB.format(port=8119) + "ExecStartPre=/bin/sh -c 'test -z \"$LD_PRELOAD\"'\n",
               "systemctl restart picky.service: "),
    "itself": ("[Service]\nExecStart=/bin/sh -c 'test -z \"$LD_PRELOAD\" && exec /usr/bin/python3 -S "
               "/opt/programs/web.py 8119'\n", "picky.service: has ended at once\n"),
    "again": ("[Service]\nRestart=always\nExecStart=/bin/sh -c 'test -z \"$LD_PRELOAD\" && exec "
              "/usr/bin/python3 -S /opt/programs/web.py 8119'\n", "picky.service: has ended at once\n"),
}


@pytest.mark.parametrize("kind", PICKY)
def test_a_service_that_does_not_start_with_it_is_restarted_without_it(c, kind):
    text, words = PICKY[kind]
    started(c, "picky.service", text)
    assert stalls(c, 8119)

    def refused():
        done = c.unstall("enable", "picky", "--restart", check=False)
        if done.returncode == 0:
            c.unstall("disable", "picky", "--restart")
        assert done.returncode == 125
        return done
    done = patiently(refused)  # the command looks after half a second; the service may end later
    assert done.stderr.startswith(f"unstall enable: {words}")
    assert "picky.service: does not start with the library; all undone" in done.stderr
    nothing_left(c, "picky.service")
    assert stalls(c, 8119)
    c.systemctl("stop", "picky")


def test_a_service_that_systemd_had_to_restart_before_is_cured(c):
    """Restarts of before do not count as an end of the new process."""
    started(c, "tired.service", WEB.format(port=8124) + "Restart=always\n")
    for _ in range(2):
        pid = c.main_pid("tired")
        c.run("kill", "-9", pid)
        assert wait_until(lambda old=pid: c.main_pid("tired") not in (0, old))
        assert stalls(c, 8124)
    c.unstall("enable", "tired", "--restart")
    assert not stalls(c, 8124)
    c.unstall("disable", "tired", "--restart")
    c.systemctl("stop", "tired")


def test_a_later_drop_in_that_wins_is_found_and_named(c):
    c.unit("later.service", WEB.format(port=8120))
    c.write("/etc/systemd/system/later.service.d/90-mine.conf", "[Service]\nEnvironment=LD_PRELOAD=/x.so\n")
    c.systemctl("daemon-reload")
    done = c.unstall("enable", "later", check=False)
    assert done.returncode == 125
    assert "90-mine.conf sets LD_PRELOAD after 50-unstall.conf: add " in done.stderr
    assert not dropin(c, "later.service").exists()
    assert dropin(c, "later.service").parent.exists()


def test_without_systemd_it_says_so_and_disable_works(c):
    c.unit("off.service", WEB.format(port=8121))
    c.unstall("enable", "off")
    without = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /run/systemd && exec "$@"', "sh",
               UNSTALL]
    done = c.run(*without, "enable", "off", check=False)
    assert done.returncode == 125
    assert done.stderr == ("unstall enable: systemd does not run here (no /run/systemd/system); start the "
                           "program by unstall run, or set LD_PRELOAD where it is started\n")
    assert "not known: systemd does not run here" in c.run(*without, "status", "off").stdout
    (unit,) = json.loads(c.run(*without, "status", "--json", "off").stdout)["units"]
    assert unit["running"] is None and unit["drop_in"]["mode"] == "auto"
    done = c.run(*without, "disable", "off")
    assert done.stderr == "unstall disable: systemd does not run here, so nothing was reloaded\n"
    assert not dropin(c, "off.service").exists()


def test_a_command_that_is_killed_leaves_a_whole_drop_in_or_none(c):
    """Killed at any time: what is there is complete, and enable and disable go on from it."""
    c.unit("killed.service", WEB.format(port=8122))
    for ms in range(0, 40, 4):
        c.run("timeout", "-s", "KILL", f"{ms / 1000 + 0.001:.3f}", UNSTALL, "enable", "killed", check=False)
        file = dropin(c, "killed.service")
        if file.exists():
            assert f"LD_PRELOAD={LIBRARY}" in file.read_text()
            c.unstall("disable", "killed")
    c.unstall("enable", "killed")
    c.unstall("disable", "killed")
    assert not list(dropin(c, "killed.service").parent.glob("*"))


def test_bad_command_lines(c):
    for words, said in {
        ("enable",): "unstall enable: no UNIT given; try --help\n",
        ("disable",): "unstall disable: no UNIT or --all given; try --help\n",
        ("disable", "--all", "web"): "unstall disable: --all and web: choose one of them\n",
        ("enable", "a", "b"): "unstall enable: b: one UNIT at a time; try --help\n",
        ("enable", "web", "--mode", "fast"): "unstall enable: --mode fast: expected off, observe, nodelay, "
                                            "cork, coalesce or auto\n",
        ("status", "--all"): "unstall status: --all: no such option; try --help\n",
    }.items():
        done = c.unstall(*words, check=False)
        assert done.returncode == 125
        assert done.stderr == said


def test_a_systemctl_that_hangs_ends_with_one_sentence(c):
    """It hung as long as systemctl did."""
    c.unit("hung.service", WEB.format(port=8140))
    c.unstall("enable", "hung")
    c.write("/opt/hangs/systemctl", "#!/bin/sh\nexec sleep 300\n", 0o755)
    env = {"PATH": "/opt/hangs:/usr/bin:/bin"}
    for words, code in ((["status", "hung"], 125), (["status"], 1), (["enable", "hung"], 125)):
        begin = time.monotonic()
        done = c.unstall(*words, check=False, env=env)
        assert time.monotonic() - begin < 40 and done.returncode == code
        assert "systemctl show hung.service: no answer within 25 s; systemd or its bus hangs\n" in done.stderr
    c.unstall("disable", "hung")
