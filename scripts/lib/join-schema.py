#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""join-schema.py LEDGER.H COMMON NAME.schema.json...: the JSON Schema of all tools, on stdout.

The counters of the ledger are those of LEDGER.H, with their descriptions.

COMMON describes what tools share.  The file of a tool describes a report of that tool, and becomes
$defs/NAME; its own $defs/line, if it has one, describes the lines that it prints beside reports.

In these files an object with $ref and properties extends the object that $ref names.  Here the two
are merged into one: its members are closed by additionalProperties, which any validator knows, while
few have unevaluatedProperties, and those are slow.

Columns that a tool has of its own (struct plumb_column) are found in its source, and are members of its
rows, unless its file describes them.
"""
import glob
import json
import os
import re
import sys

COLUMN = re.compile(r'\{\s*"([^"]+)",\s*PLUMB_COLUMN_(\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)([^}]*)\}')
INTEGERS = ("COUNT", "BYTES", "TIME")


def merge(base, more):
    """What BASE describes, with what MORE adds to it or says instead."""
    if not isinstance(base, dict) or not isinstance(more, dict):
        return more
    joined = {**base, **{name: merge(base[name], value) if name in base else value for name, value in more.items()}}
    if isinstance(base.get("required"), list) and "required" in more:
        joined["required"] = base["required"] + [name for name in more["required"] if name not in base["required"]]
    return joined


def columns_of(folder):
    """The members that are columns, and the names of those that each row has: counters."""
    members, counters = {}, []
    for path in sorted(glob.glob(os.path.join(folder, "*.c"))):
        with open(path, encoding="utf-8") as source:
            for name, kind, about, more in COLUMN.findall(source.read()):
                kinds = {"$ref": "#/$defs/natural"} if kind in INTEGERS else {"type": ["string", "null"]} if kind == "TEXT" else {"type": "number", "minimum": 0}
                members[name] = {"description": "".join(json.loads(f'"{part}"') for part in re.findall(r'"((?:[^"\\]|\\.)*)"', about)), **kinds}
                if re.fullmatch(r",?\s*(\.id = \w+,?)?\s*", more):
                    counters.append(name)
    return members, counters


def add_columns(within, members, counters):
    """Adds them to each description of a row in WITHIN."""
    if isinstance(within, dict):
        of = str(within.get("$ref"))
        if of.startswith("#/$defs/row_of_") and of != "#/$defs/row_of_stacks" and members:
            within["properties"] = {**members, **within.get("properties", {})}
            within["required"] = counters + [name for name in within.get("required", []) if name not in counters]
        within = list(within.values())
    for value in within if isinstance(within, list) else []:
        add_columns(value, members, counters)


def follow(schema, reference):
    for step in reference.removeprefix("#/").split("/"):
        schema = schema[step]
    return schema


def extend(schema, within):
    """WITHIN, with each object that extends another merged with it."""
    if isinstance(within, list):
        return [extend(schema, value) for value in within]
    if not isinstance(within, dict):
        return within
    while "$ref" in within and "properties" in within:
        more = dict(within)
        within = merge(follow(schema, more.pop("$ref")), more)
    return {name: extend(schema, value) for name, value in within.items()}


def join(common, tools):
    schema = {**common, "$defs": {**common["$defs"], **tools}}
    schema["$defs"]["tool"] = {**schema["$defs"]["tool"], "enum": list(tools)}
    schema = extend(schema, schema)
    lines = [{"$ref": f"#/$defs/{tool}/$defs/line"} for tool in tools if "line" in tools[tool].get("$defs", {})]
    return {
        **schema,
        "if": {"required": ["schema"]},
        "then": {
            "required": ["tool"],
            "properties": {"tool": {"$ref": "#/$defs/tool"}},
            "allOf": [
                {"if": {"properties": {"tool": {"const": tool}}}, "then": {"$ref": f"#/$defs/{tool}"}} for tool in tools
            ],
        },
        "else": {"anyOf": lines},
    }


def add_counters(ledger, header):
    """To the definition of the LEDGER those that are SHOWN in the HEADER's table."""
    with open(header, encoding="utf-8") as text:
        counters = re.findall(r'^\tSHOWN\((\w+), [01], "[^"]*", "([^"]*)"\)', text.read(), re.MULTILINE)
    if not counters:
        sys.exit(f"{header}: no counter is shown")
    for name, description in counters:
        ledger["properties"][name] = {"description": description, "$ref": "#/$defs/natural"}
        ledger["required"].append(name)


def main(header, common, paths):
    texts = {}
    for path in [common, *paths]:
        with open(path, encoding="utf-8") as text:
            try:
                texts[os.path.basename(path).removesuffix(".schema.json")] = json.load(text)
            except ValueError as error:
                sys.exit(f"{path}: {error}")
        add_columns(texts[os.path.basename(path).removesuffix(".schema.json")], *columns_of(os.path.dirname(path)))
    common = texts.pop(os.path.basename(common).removesuffix(".schema.json"))
    add_counters(common["$defs"]["ledger"], header)
    try:
        schema = join(common, dict(sorted(texts.items())))
    except KeyError as name:
        sys.exit(f"a $ref names {name}, which no file defines")
    print(json.dumps(schema, indent="\t", ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
