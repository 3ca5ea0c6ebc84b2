# SPDX-License-Identifier: MIT
"""The packages: what is in them, that they install, work, upgrade and go without a trace, and that two builds
are equal."""

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


def test_the_library_needs_libc_alone():
    assert re.fullmatch(r"libc6 \(>= [0-9.]+\)", field(package(packages(), "libunstall0"), "Depends"))


def test_the_command_brings_its_manual_and_completions():
    files = contents(package(packages(), "unstall"))
    assert {"/usr/bin/unstall", "/usr/share/man/man1/unstall.1.gz", "/usr/share/zsh/site-functions/_unstall",
            "/usr/share/bash-completion/completions/unstall",
            "/usr/share/fish/vendor_completions.d/unstall.fish"} <= files
    assert not [path for path in files if "libunstall.so" in path or path.endswith(".py")]


def test_the_analysis_is_the_one_of_the_sources():
    top = SOURCE_ROOT / "src/analysis"
    sources = {f"/usr/libexec/unstall/analysis/{path.relative_to(top)}" for path in top.rglob("*.py")}
    path = package(packages(), "unstall-analysis")
    assert {file for file in contents(path) if file.endswith(".py")} == sources
    assert field(path, "Architecture") == "all"


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


def sums(folder):
    paths = [path for path in folder.iterdir() if path.suffix in (".deb", ".dsc", ".xz")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_a_second_build_in_another_place_time_and_language_is_equal(tmp_path):
    """From the release tarball, outside git: another path, umask, time zone, language and user's flags."""
    first = packages()
    (tarball,) = first.glob("unstall-[0-9]*.tar.xz")
    run("tar", "-C", tmp_path, "-xf", tarball)
    (tree,) = tmp_path.glob("unstall-*")
    run("bash", "-c", 'umask 077; exec "$@"', "-", tree / "scripts/package", "--no-lint",
        "--tarball", tarball, "--work", tmp_path / "some/where-else", "--output", tmp_path / "second",
        env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TZ": "Asia/Tokyo", "LC_ALL": "C",
             "HOME": str(tmp_path), "CFLAGS": "-O1", "LANG": "tr_TR.UTF-8"})
    assert sums(tmp_path / "second") == sums(first)
    assert len([name for name in sums(first) if name.endswith(".deb")]) == 5


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
    return {f"added {path}" for name in names for path in contents(package(folder, name))}


def test_an_installation_adds_what_is_in_the_packages(life, older):
    found, expected = foreign(life["installed"]), added_by(NAMES, older)
    assert found <= expected
    assert all("/usr/share/" in line for line in expected - found)
    assert f"added /usr/lib/{triplet()}/libunstall.so" in found


def test_an_upgrade_leaves_nothing_of_the_version_before(life):
    assert {line.split()[1] for line in life["versions-older"]} == {"0.0.9-1"}
    (new,) = {line.split()[1] for line in life["versions-newer"]}
    assert new == field(package(packages(), "unstall"), "Version")
    assert [line for line in life["upgraded"] if "of-the-version-before" in line] == []
    assert foreign(life["upgraded"]) <= added_by(NAMES, packages())
    assert life["verified"] == []


@pytest.mark.parametrize("step", ["removed", "purged"])
def test_nothing_is_left(life, step):
    assert foreign(life[step]) == set()


def test_a_purge_leaves_nothing_in_the_books(life):
    assert life["left"] == []
    assert [line for line in life["purged"] if "unstall" in line] == []


def test_the_installed_packages_cure_a_real_program(life):
    """debian/tests, as autopkgtest runs it."""
    text = "\n".join(life["cures"])
    assert "failed" not in text and "bare: " in text and text.count("cured") == 3, text
