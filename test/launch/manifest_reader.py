#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the manifest of a job, for manifest.sh: manifest_reader.py FILE NAME=JSON...

NAME is a path such as hosts.0.kernel; JSON the value that is expected, or * for any that is not null, or - for null."""

import hashlib
import json
import sys

TYPES = {
    "schema": str, "weft": dict, "arguments": list, "directory": str, "environment": dict, "plan": dict, "hosts": list,
    "programs": list, "python": (dict, type(None)), "git": (dict, type(None)), "start": str, "end": (str, type(None)),
    "restarts": int, "exit_code": (int, type(None)), "ranks": list,
}


def fail(text):
    print(f"{sys.argv[1]}: {text}", file=sys.stderr)
    sys.exit(1)


def look_up(value, path):
    for name in path.split("."):
        value = value[int(name)] if isinstance(value, list) else value.get(name)
    return value


with open(sys.argv[1]) as file:
    manifest = json.load(file)
if manifest.keys() != TYPES.keys():
    fail(f"members are {sorted(manifest)}, expected {sorted(TYPES)}")
for name, kind in TYPES.items():
    if not isinstance(manifest[name], kind):
        fail(f"{name} is {manifest[name]!r}")
for name in manifest["environment"]:
    if any(word in name.upper() for word in ("TOKEN", "SECRET", "PASSWORD", "KEY")):
        fail(f"the secret {name} is recorded")
for program in manifest["programs"]:
    for each in (program["program"], program["script"]):
        if each is None:
            continue
        with open(each["path"], "rb") as file:
            expected = hashlib.sha256(file.read()).hexdigest()
        if each["sha256"] != expected:
            fail(f"{each['path']} has {each['sha256']}, expected {expected}")
for argument in sys.argv[2:]:
    path, _, expected = argument.partition("=")
    value = look_up(manifest, path)
    good = value is not None if expected == "*" else value is None if expected == "-" else value == json.loads(expected)
    if not good:
        fail(f"{path} is {json.dumps(value)}, expected {expected}")
