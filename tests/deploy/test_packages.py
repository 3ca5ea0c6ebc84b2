# SPDX-License-Identifier: MIT
"""The packages: what is in them, that they install, work, upgrade and go without a trace, and that two builds
are equal."""

import fnmatch
import hashlib
import re
import shutil
import subprocess

import pytest
from made import packages, run

from harness import SOURCE_ROOT, skip

NAMES = ("libunstall0", "unstall", "unstall-analysis")

# What dpkg and the triggers of other packages write for themselves.
BOOKS = re.compile(r"(added|changed) /(var/lib/dpkg/|var/log/|var/cache/|etc/ld\.so\.cache$)|"
                   r"gone /var/lib/dpkg/")


# What deb-systemd-helper writes for a unit of a package.
UNITS_STATE = {"added /var/lib/systemd/deb-systemd-helper-enabled/unstall-metrics.service.dsh-also"}
DROPIN = "/etc/systemd/system/app.service.d/50-unstall.conf"


def package(folder, name):
    (path,) = folder.glob(f"{name}_*.deb")
    return path


def contents(path):
    lines = run("dpkg-deb", "-c", path).splitlines()
    return {line.split(maxsplit=5)[5].split(" -> ")[0][1:] for line in lines if not line.startswith("d")}


def field(path, name):
    return run("dpkg-deb", "-f", path, name).strip()


def documents(name):
    return {f"/usr/share/doc/{name}/{file}" for file in ("changelog.Debian.gz", "copyright")}


def triplet():
    return run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()


def test_the_library_is_where_the_linker_of_each_architecture_looks():
    path = package(packages(), "libunstall0")
    assert contents(path) - documents("libunstall0") == {
        f"/usr/lib/{triplet()}/libunstall.so", "/usr/share/man/man7/libunstall.7.gz",
        "/usr/share/lintian/overrides/libunstall0"}
    assert field(path, "Multi-Arch") == "same"


def test_the_exporter_for_a_fleet_is_the_unit_of_the_page_and_waits_to_be_enabled(tmp_path):
    page = (SOURCE_ROOT / "docs/fleet.md").read_text(encoding="utf-8")
    path = package(packages(), "unstall")
    run("dpkg-deb", "-R", path, tmp_path)
    (unit,) = tmp_path.rglob("unstall-metrics.service")
    assert unit.parent in (tmp_path / "lib/systemd/system", tmp_path / "usr/lib/systemd/system")
    text = re.sub(r"^#.*\n", "", unit.read_text(encoding="utf-8"), flags=re.M)
    assert re.findall(r"^```\n(\[Unit\].*?)^```$", page, re.M | re.S) == [text]
    scripts = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "DEBIAN").glob("p*"))
    assert "update-state" in scripts and "unstall-metrics.service" in scripts
    assert not re.search(r"deb-systemd-invoke (start|restart|\$_dh_action)", scripts)


def test_the_page_names_what_the_command_needs():
    page = (SOURCE_ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"^The command needs (.*?)\.$", page, re.M)
    depends = re.findall(r"(?:^|, )([a-z0-9.+-]+)", field(package(packages(), "unstall"), "Depends"))
    others = [re.sub("t64$", "", name) for name in depends if name not in ("libc6", "libunstall0")]
    assert sorted(re.split(", | and ", words)) == sorted(others)


def test_the_library_needs_libc_alone():
    assert re.fullmatch(r"libc6 \(>= [0-9.]+\)", field(package(packages(), "libunstall0"), "Depends"))


def test_the_command_brings_its_manual_and_completions():
    files = contents(package(packages(), "unstall"))
    assert {"/usr/bin/unstall", "/usr/share/man/man1/unstall.1.gz", "/usr/share/zsh/site-functions/_unstall",
            "/usr/share/bash-completion/completions/unstall",
            "/usr/share/fish/vendor_completions.d/unstall.fish"} <= files
    assert not [path for path in files if "libunstall.so" in path]


@pytest.mark.parametrize("part, name, architecture", [
    ("analysis", "unstall-analysis", {"all"}), ("pages", "unstall", {"amd64", "arm64"})])
def test_what_is_in_python_is_that_of_the_sources(part, name, architecture):
    top = SOURCE_ROOT / "src" / part
    sources = {f"/usr/libexec/unstall/{part}/{path.relative_to(top)}" for path in top.rglob("*.py")}
    path = package(packages(), name)
    assert {file for file in contents(path) if file.endswith(".py")} == sources
    assert field(path, "Architecture") in architecture


@pytest.mark.parametrize("name", ["libunstall0", "unstall"])
def test_there_are_debug_symbols(name):
    assert [file for file in contents(package(packages(), f"{name}-dbgsym")) if file.endswith(".debug")]


def test_the_packaged_library_imports_nothing_that_musl_lacks(tmp_path):
    """The flags of packages would bring in names like __read_chk."""
    run("dpkg-deb", "-x", package(packages(), "libunstall0"), tmp_path)
    names = run("nm", "-D", "--undefined-only", next(tmp_path.rglob("libunstall.so")))
    assert "write" in names or "memcpy" in names
    assert "_chk" not in names


def test_the_versions_agree():
    version = re.search(r"^  version: '(.*)',$", (SOURCE_ROOT / "meson.build").read_text(), re.M).group(1)
    assert field(package(packages(), "unstall"), "Version").split("-")[0] == version
    spec = (SOURCE_ROOT / "data/unstall.spec").read_text()
    assert re.search(r"^Version: +(\S+)$", spec, re.M).group(1) == version


def files_of_the_spec():
    """{package: patterns of its %files}, as rpm expands them."""
    text = run("rpmspec", "-P", "--define", f"_libdir /usr/lib/{triplet()}", "--define",
               "_libexecdir /usr/libexec", SOURCE_ROOT / "data/unstall.spec")
    found = {}
    section = r"^%files([^\n]*)\n(.*?)(?=^%[a-z]+(?<!license)(?<!doc)(?<!dir)\b|\Z)"
    for options, lines in re.findall(section, text, re.M | re.S):
        found[options.strip()] = [line for line in lines.splitlines() if line.startswith("/")]
    return found


OF_RPM = {"": "unstall", "-n libunstall": "libunstall0", "analysis": "unstall-analysis"}


def test_the_rpm_packages_have_the_files_of_the_debian_ones():
    """Documents and compiled Python apart, which each kind of packages has in its own way."""
    if shutil.which("rpmspec") is None:
        skip("rpm is not installed")
    patterns = files_of_the_spec()
    assert {name: OF_RPM[name] for name in patterns} == OF_RPM
    for name, expected in patterns.items():
        files = {re.sub("^/lib/", "/usr/lib/", path).removesuffix(".gz")
                 for path in contents(package(packages(), OF_RPM[name]))
                 if not path.startswith(("/usr/share/doc/", "/usr/share/lintian/"))}
        of_pattern = {pattern: {path for path in files
                                if fnmatch.fnmatchcase(path, pattern) or path.startswith(f"{pattern}/")}
                      for pattern in expected}
        assert [pattern for pattern, found in of_pattern.items() if not found] == []
        assert files == set().union(*of_pattern.values())


def sums(folder):
    paths = [path for path in folder.iterdir() if path.suffix in (".deb", ".dsc", ".xz")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


OTHERWISE = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "Asia/Tokyo", "LC_ALL": "C",
             "CFLAGS": "-O1", "LANG": "tr_TR.UTF-8", "XZ_OPT": "-1", "TAR_OPTIONS": "--mtime=@1"}


def packed_elsewhere(tree, folder, *options):
    """By scripts/package of this tree, with another umask, time zone, language and user's flags."""
    run("bash", "-c", 'umask 077; exec "$@"', "-", tree / "scripts/package", "--no-lint", *options,
        "--work", folder / "some/where-else", "--output", folder / "second",
        env={**OTHERWISE, "HOME": str(folder)})
    return sums(folder / "second")


def test_a_release_is_that_of_its_own_tree_and_tells_nothing_of_its_making(tmp_path):
    """Neither who makes it, nor when, nor with which umask, makes a difference.  (From the tree in the
    tarball, which has no git, it is made by the second build below.)"""
    made = packed_elsewhere(SOURCE_ROOT, tmp_path, "--release")
    (tarball,) = (tmp_path / "second").iterdir()
    assert made.items() <= sums(packages()).items()
    rows = [line.split() for line in
            run("tar", "--numeric-owner", "--full-time", "--utc", "-tvf", tarball).splitlines()]
    assert len(rows) > 500
    assert {row[0] for row in rows} <= {"drwxr-xr-x", "-rwxr-xr-x", "-rw-r--r--"}
    assert len({(row[1], row[3], row[4]) for row in rows}) == 1 and rows[0][1] == "0/0"


def test_a_second_build_in_another_place_time_and_language_is_equal(tmp_path):
    """From the tree of the release tarball, outside git, which makes the same tarball again."""
    first = packages()
    (tarball,) = first.glob("unstall-[0-9]*.tar.xz")
    run("tar", "-C", tmp_path, "-xf", tarball)
    (tree,) = tmp_path.glob("unstall-*")
    assert packed_elsewhere(tree, tmp_path) == sums(first)
    names = list(sums(first))
    assert [len([name for name in names if name.endswith(end)]) for end in (".deb", ".dsc", "z")] == [5, 1, 3]


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """The packages of a version before, with one file that the version after no longer has."""
    folder = tmp_path_factory.mktemp("older")
    for name in NAMES:
        tree = folder / name
        run("dpkg-deb", "-R", package(packages(), name), tree)
        control = tree / "DEBIAN/control"
        text = control.read_text(encoding="utf-8")
        version = re.search(r"^Version: (.*)$", text, re.M).group(1)
        text = text.replace(version, "0.0.9-1").replace(f"(>= {version.split('-')[0]})", "(>= 0.0.9)")
        control.write_text(text.replace(f"(<< {version.split('-')[0]}+~)", "(<< 0.0.9+~)"), encoding="utf-8")
        (tree / f"usr/share/doc/{name}/of-the-version-before").write_text("gone after an upgrade\n")
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-b", tree, folder)
        shutil.rmtree(tree)
    return folder


@pytest.fixture(scope="module")
def life(older, tmp_path_factory):
    """Step -> its lines, of the packages' life in a root of their own."""
    place, results = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("life")
    if run("id", "-u").strip() != "0":
        skip("only root may mount an overlay and install packages")
    newer = tmp_path_factory.mktemp("newer")
    for name in NAMES:
        shutil.copy(package(packages(), name), newer)
    run("unshare", "--mount", "--propagation", "private", SOURCE_ROOT / "tests/deploy/life.sh", place, older,
        newer, results, SOURCE_ROOT / "debian")
    return {path.name: path.read_text(encoding="utf-8").splitlines() for path in results.iterdir()}


def foreign(lines):
    """What is not in dpkg's own books."""
    return {line for line in lines if not BOOKS.match(line)}


def added_by(names, folder):
    """docs that the machine leaves out (dpkg's path-exclude, in slim images) are no part of it."""
    return {f"added {re.sub('^/lib/', '/usr/lib/', path)}"
            for name in names for path in contents(package(folder, name))}


def test_an_installation_adds_what_is_in_the_packages(life, older):
    found, expected = foreign(life["installed"]) - UNITS_STATE, added_by(NAMES, older)
    assert found <= expected
    assert all("/usr/share/" in line for line in expected - found)
    assert f"added /usr/lib/{triplet()}/libunstall.so" in found


def test_an_upgrade_leaves_nothing_of_the_version_before(life):
    assert {line.split()[1] for line in life["versions-older"]} == {"0.0.9-1"}
    (new,) = {line.split()[1] for line in life["versions-newer"]}
    assert new == field(package(packages(), "unstall"), "Version")
    assert [line for line in life["upgraded"] if "of-the-version-before" in line] == []
    assert foreign(life["upgraded"]) - UNITS_STATE <= added_by(NAMES, packages())
    assert life["verified"] == []


def test_a_removal_leaves_the_settings_of_services_and_says_so(life):
    """The drop-in is the operator's; which units the helper of systemd knows, until the purge."""
    assert foreign(life["removed"]) - UNITS_STATE == foreign(life["purged"]) == {f"added {DROPIN}"}
    said = [line for line in life["removal"] if line.startswith("unstall: ")]
    assert said[0].startswith(f"unstall: {DROPIN} stays; ") and len(said) == 2, life["removal"]


def test_a_purge_leaves_nothing_in_the_books(life):
    assert life["left"] == []
    assert [line for line in life["purged"] if "unstall" in line] == [f"added {DROPIN}"]


def test_the_installed_packages_cure_a_real_program(life):
    """debian/tests, as autopkgtest runs it."""
    text = "\n".join(life["cures"])
    assert "failed" not in text and "bare, run 1: " in text and text.count("cured") == 3, text


def test_the_demonstration_runs_from_the_installed_packages(life):
    text = "\n".join(life["demo"])
    rows = dict(re.findall(r"^(bare|auto) +([0-9.]+) ", text, re.M))
    assert "failed" not in text and float(rows["bare"]) > 20 > float(rows["auto"]), text
