# SPDX-License-Identifier: MIT
"""Each form of --json is what its schema says, with no key beside: a renamed one is found."""

import copy
import json
import os

import jsonschema
import pytest
from captures import Capture
from stats_files import STALLING, make_stats_file
from talkers import staller
from test_explain_capture import published
from test_explain_strace import stalling
from test_report_text import TABLES
from test_scan import Actor

from harness import SOURCE_ROOT, AnsweringPeer, stats_directory, unstall

SCHEMAS = {path.stem: json.loads(path.read_text(encoding="utf-8"))
           for path in sorted((SOURCE_ROOT / "data/schema").glob("*.json"))}


def complaints(told):
    """What the schema of its format has against an object."""
    schema = SCHEMAS[told["format"]]
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(told)]


def report(tmp_path):
    for n, table in enumerate(TABLES):
        yield unstall("report", "--json", make_stats_file(tmp_path / f"{n}.unstall", table))


def report_folder(tmp_path):
    make_stats_file(tmp_path / "1.unstall", STALLING)
    make_stats_file(tmp_path / "2.unstall", STALLING)
    yield unstall("report", "--json", tmp_path)


def scan(_):
    with Actor("stall") as actor, Actor("one-way"):
        yield unstall("scan", "--json", "--time", "2")
        yield unstall("scan", "--json", "--time", "2", "--source", "sampled", "--port", actor.port)


def explain(tmp_path):
    for name, data in {"a": published().pcap(), "b": stalling().text().encode(), "c": Capture().pcap(),
                       "d": b"\x1f\x8b"}.items():
        (tmp_path / name).write_bytes(data)
        yield unstall("explain", "--json", tmp_path / name)


def doctor(_):
    for target in ("/bin/ls", "/usr/bin/sudo", str(os.getpid())):
        if target.isdigit() or os.path.exists(target):
            yield unstall("doctor", "--json", target)


def status(_):
    yield unstall("status", "--json")


def live(_):
    """A process that runs: set, and the report and the diagnosis with all that only such a one has."""
    with AnsweringPeer() as peer, stats_directory() as folder, staller(folder, peer) as process:
        yield unstall("observe", "--json", "--time", "1", process.pid)
        yield unstall("set", "--json", process.pid, "auto")
        yield unstall("set", "--json", "--arms", "off:50,auto:50", process.pid)
        yield unstall("report", "--json", process.pid)
        yield unstall("doctor", "--json", process.pid)


FORMS = [report, report_folder, scan, explain, doctor, status, live]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_is_written_is_what_the_schema_says(tmp_path, form):
    for done in form(tmp_path):
        told = json.loads(done.stdout)
        for one in told if isinstance(told, list) else [told]:
            assert not complaints(one), (one["made"]["command"], complaints(one))


def objects(schema):
    """All objects that a schema describes."""
    if isinstance(schema, dict):
        if "properties" in schema and "type" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one_and_closes_each_object(name):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["properties"]["format"] == {"const": name}
    assert all(found["additionalProperties"] is False for found in objects(SCHEMAS[name]))


def renamed(value):
    """Copies of an object, in each of which one key of some depth has another name."""
    for key in value:
        other = {k if k != key else f"{k}_": v for k, v in value.items()}
        yield key, other
        inner = value[key][0] if isinstance(value[key], list) and value[key] else value[key]
        if isinstance(inner, dict):
            for deep, changed in renamed(inner):
                made = copy.deepcopy(value)
                made[key] = [changed] if isinstance(value[key], list) else changed
                yield deep, made


def test_a_renamed_key_is_found(tmp_path):
    told = json.loads(unstall("report", "--json", make_stats_file(tmp_path / "x.unstall", STALLING)).stdout)
    made = list(renamed(told))
    assert len(made) > 80 and not complaints(told)
    assert [key for key, other in made if key != "format" and not complaints(other)] == []
