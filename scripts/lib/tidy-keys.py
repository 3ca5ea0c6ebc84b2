#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For scripts/tidy: the commands of a build folder, one for each file, and a key for each file of src and for
each other one that is compiled.

    tidy-keys.py BUILD ROOT CONFIGURED

Writes BUILD/tidy/compile_commands.json, and BUILD/tidy/keys with a line "KEY PATH" for each file.  The key
is a digest of all that the findings in a file depend on: CONFIGURED (the tool and its configuration), the
command, the file, and the headers that it reads, as the compiler has told ninja.  A file that was not
compiled gets a key of all headers of src.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=None)
def digest(path):
    """Of a file's content."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def headers_of_objects():
    """{object: what it was compiled of}, for those that are up to date."""
    told = subprocess.run(["ninja", "-t", "deps"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {match[1]: match[2].split() for match in
            re.finditer(r"^(\S.*): #deps .* \(VALID\)\n((?: +.*\n)+)", told, re.MULTILINE)}


def keys(root, configured, commands):
    """Lines for the file `keys`."""
    headers = headers_of_objects()
    every = sorted(map(str, (root / "src").rglob("*.h"))) + sorted(map(str, (root / "src").rglob("*.def")))
    compiled = {path for path in map(Path, commands) if path.suffix == ".c" and root in path.parents}
    for path in sorted({*(root / "src").rglob("*.c"), *compiled}):
        one = commands.get(str(path), {})
        read = sorted(set(headers.get(one.get("output"), every)))
        whole = [configured, one.get("command", "").replace(str(root), ""), digest(path), *map(digest, read)]
        yield f"{hashlib.sha256(' '.join(whole).encode()).hexdigest()} {path}\n"


def main(build, root, configured):
    """Writes both files."""
    os.chdir(build)
    commands = {os.path.normpath(f"{one['directory']}/{one['file']}"): one
                for one in reversed(json.loads(Path("compile_commands.json").read_text(encoding="utf-8")))}
    Path("tidy/compile_commands.json").write_text(json.dumps(list(commands.values())), encoding="utf-8")
    Path("tidy/keys").write_text("".join(keys(Path(root), configured, commands)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
