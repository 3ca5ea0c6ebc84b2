# SPDX-License-Identifier: MIT
"""A container with a real systemd: the machine's own /usr, read-only, and a small root around it."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import COMMAND, LIB, Finished, bare_env

HERE = Path(__file__).parent
UNSTALL = "/opt/unstall/unstall"
LIBRARY = "/opt/unstall/libunstall.so"
TESTER = 1000
PATIENCE_S = 20

SMALL_TARGET = """[Unit]
Requires=sysinit.target dbus.socket
After=sysinit.target dbus.socket
AllowIsolate=yes
"""


def make_root(root):
    """What systemd needs of a root, beside /usr."""
    root.chmod(0o755)
    for name in ("usr", "etc/systemd/system", "var/lib", "var/log", "var/cache", "var/tmp", "run", "tmp",
                 "root", "proc", "sys", "dev", "srv", "opt/unstall", "home/tester"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{name}"):
            (root / name).symlink_to(os.readlink(f"/{name}"))
    for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache", "os-release", "nginx", "alternatives"):
        place = Path("/etc", name)
        if place.is_dir():
            shutil.copytree(place, root / "etc" / name, symlinks=True)
        else:
            shutil.copy(place, root / "etc" / name)
    (root / "etc/machine-id").touch()
    with open(root / "etc/passwd", "a", encoding="utf-8") as users:
        users.write(f"tester:x:{TESTER}:{TESTER}::/home/tester:/bin/sh\n")
    os.chown(root / "home/tester", TESTER, TESTER)
    (root / "etc/systemd/system/small.target").write_text(SMALL_TARGET, encoding="utf-8")
    masked = root / "etc/systemd/system-generators"  # they take most of the time of a reload
    masked.mkdir()
    for generator in Path("/usr/lib/systemd/system-generators").iterdir():
        (masked / generator.name).symlink_to("/dev/null")
    for file in (COMMAND, LIB):
        shutil.copy(file, root / "opt/unstall")
    shutil.copytree(HERE / "programs", root / "opt/programs")


class Container:
    """`with Container() as c: c.unstall("enable", "web")`."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="unstall-service-"))
        self.keeper = None
        self.leader = 0

    @staticmethod
    def possible():
        return os.geteuid() == 0 and shutil.which("systemd-nspawn")

    def __enter__(self):
        try:
            make_root(self.root)
        except BaseException:
            shutil.rmtree(self.root)
            raise
        self.keeper = subprocess.Popen([sys.executable, "-B", HERE / "keeper.py", self.root],
                                       env=bare_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True, start_new_session=True)
        line = self.keeper.stdout.readline()
        if not line:
            self.__exit__()
            raise AssertionError("the container has not come up; systemd-nspawn's words are above")
        self.leader = int(line)
        return self

    def __exit__(self, *_):
        self.keeper.stdin.close()
        self.keeper.wait(60)
        self.keeper.stdout.close()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def entered(self):
        """The words before a command that runs in the container."""
        return ["nsenter", "--target", str(self.leader), "--all", "--wdns=/"]

    def run(self, *words, check=True, env=None, user=None, timeout=60):
        """Run a command in the container, as root or as another user."""
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                       "HOME": "/root", "LANG": "C.UTF-8", **(env or {})}
        who = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        done = subprocess.run([*self.entered, *who, *map(str, words)], env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return Finished(done.returncode, done.stdout, done.stderr)

    def popen(self, *words, stdout=subprocess.DEVNULL):
        """The same in the background, without output."""
        return subprocess.Popen([*self.entered, *map(str, words)], env={"PATH": "/usr/bin"}, text=True,
                                stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL)

    def unstall(self, *words, check=True, **more):
        return self.run(UNSTALL, *words, check=check, **more)

    def systemctl(self, *words, **more):
        return self.run("systemctl", *words, **more)

    def path(self, name):
        """A file of the container, as this process sees it; not below /run and /tmp."""
        return self.root / name.lstrip("/")

    def write(self, name, text, mode=0o644):
        place = self.path(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        place.chmod(mode)

    def copy(self, source, name):
        shutil.copy(source, self.path(name))

    def unit(self, name, text):
        """Writes a unit; the caller has systemd read it."""
        self.write(f"/etc/systemd/system/{name}", text)

    def load(self, name, text):
        """Writes a unit, and has systemd read it."""
        self.unit(name, text)
        self.systemctl("daemon-reload")

    def exchange_ms(self, port):
        """The typical exchange with a server of the container, once it listens."""
        done = self.run("/usr/bin/python3", "-S", "/opt/programs/client.py", port, PATIENCE_S)
        return statistics.median(float(line) for line in done.stdout.split())

    def main_pid(self, unit, *options):
        return int(self.systemctl(*options, "show", "-P", "MainPID", unit).stdout)

    def loaded(self, pid):
        return "libunstall" in self.run("cat", f"/proc/{pid}/maps").stdout
