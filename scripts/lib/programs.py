#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""programs.py VERSION SCHEMA PROGRAMS.MD NAME.rst...: the file for programs that drive the tools, on stdout.

A heading "## NAME" of a tool is extended by what its manual page says of it in one line, @LEDGER@ becomes the
list of the ledger's members of the schema: what is said elsewhere is not written here again.
"""
import json
import os
import re
import sys


def summary(path):
    """The subtitle of a manual page."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    bars = [i for i, line in enumerate(lines) if re.fullmatch("-{4,}", line)]
    return lines[bars[0] + 1].strip()


def ledger(schema):
    with open(schema, encoding="utf-8") as file:
        members = json.load(file)["$defs"]["ledger"]["properties"]
    return "\n".join(f"- `{name}`: {member['description']}" for name, member in members.items())


def main(version, schema, source, *pages):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    for page in pages:
        name = os.path.basename(page)[:-len(".rst")]
        text, n = re.subn(rf"(?m)^## {name}$", lambda m: f"{m[0]}: {summary(page)}", text)
        if n > 1: # none: a tool that is not part of the collection yet
            sys.exit(f"{source}: {n} headings of {name}")
    text = text.replace("@VERSION@", version).replace("@LEDGER@", ledger(schema))
    # What is said of its source is not for its readers.
    text = re.sub(r"(?s)<!-- For programs.*?-->\n", "", text)
    sys.stdout.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
