#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""docs.py tags|links|loads|examples EXAMPLES.HTML [NAME.rst...]: what is wrong with the page, one line each."""
import html.parser
import os
import re
import sys

VOID = {"meta", "br", "img", "hr", "link", "col"}


class Page(html.parser.HTMLParser):
    """What a browser would make of it, as far as it matters here."""

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.ids, self.links, self.loads = [], [], [], [], []
        self.blocks, self.section = {}, None
        self.feed(text)
        self.problems += [f"not closed: {tag}" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if tag == "a" else []
        self.loads += [f"{tag} {attrs[a]}" for a in ("src", "srcset", "data") if a in attrs] + ([tag] if tag in ("link", "script") else [])
        if tag == "section" and not self.section:
            self.section = attrs["id"]
            self.blocks[self.section] = []
        if tag == "pre":
            self.blocks[self.section].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"closed, but not the last that was opened: {tag} in line {self.getpos()[0]}")
        if tag == "section" and "section" not in self.open:
            self.section = None

    def handle_data(self, data):
        if "pre" in self.open:
            self.blocks[self.section][-1] += data


def examples_of(path):
    """The literal blocks of a manual page's EXAMPLES, as they stand there."""
    blocks, state = [], "before"
    for line in open(path, encoding="utf-8").read().splitlines():
        if re.fullmatch("[A-Z][A-Z0-9 ]*", line):
            state = "text" if line == "EXAMPLES" else "before"
        elif state != "before":
            if line.startswith("    ") and state in ("expected", "in"):
                if state == "expected":
                    blocks.append([])
                blocks[-1].append(line)
                state = "in"
            elif not line and state == "in":
                blocks[-1].append("")
            elif line:
                state = "expected" if line.endswith("::") else "text"
    out = []
    for block in blocks:
        margin = min(len(line) - len(line.lstrip()) for line in block if line)
        out.append("\n".join(line[margin:] for line in block).strip("\n"))
    return out


def main(what, path, *sources):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    page = Page(text)
    if what == "tags":
        print("\n".join(page.problems + [f"twice: {i}" for i in set(page.ids) if page.ids.count(i) > 1]))
    elif what == "links":
        print("\n".join(link for link in page.links if not link.startswith("#") or link[1:] not in page.ids))
    elif what == "loads":
        print("\n".join(page.loads + re.findall(r"@import.*|url\(.*", text)))
    else:
        for source in sources:
            tool = os.path.basename(source)[:-len(".rst")]
            there, here = examples_of(source), [block.strip("\n") for block in page.blocks.get(tool, [])]
            if not there or there != here:
                print(f"{tool}: {len(there)} in its manual page, {len(here)} here; the first that differs:",
                      next((repr(a) for a, b in zip(there, here) if a != b), "none"))


if __name__ == "__main__":
    main(*sys.argv[1:])
