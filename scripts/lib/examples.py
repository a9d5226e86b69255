#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""examples.py VERSION PLUMB.7.RST EXAMPLES.CSS NAME.rst...: the examples of all manual pages as one page, on stdout.

The index is WHICH TOOL of plumb(7); a tool's section has its page's one line and its EXAMPLES.  The page loads
nothing: the style is in it.
"""
import html
import os
import re
import sys

import docutils.core

INTRO = """
What the tools print: the examples of their manual pages, with the kernel in parentheses. Times and costs are those of the
machine that was at hand. A line that begins with *#* is the command. ``man TOOL`` has columns, options and caveats, ``man
plumb-common`` what all tools share.
"""


def sections(text):
    """The sections of a page, by their titles in capitals."""
    parts = re.split(r"(?m)^([A-Z][A-Z0-9 ]*)\n=+\n", text)
    return dict(zip(parts[1::2], parts[2::2]))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def linked(text, tools):
    """With links in place of references to pages of TOOLS; literal blocks, which are indented, stay."""
    def link(m):
        return f"`{m[1]}(8) <#{m[1]}>`__" if m[1] in tools else f"*{m[1]}*\\ ({m[2]})"
    text = re.sub(r"\*\*([a-z0-9-]+)\*\*\\ ?\(([1-8])\)", link, text)
    return "".join(re.sub(r"\*\*([a-z0-9-]+)\*\*", lambda m: f"`{m[1]} <#{m[1]}>`__" if m[1] in tools else m[0], line)
                   if not line.startswith(" ") else line for line in text.splitlines(keepends=True))


def as_html(text):
    body = docutils.core.publish_parts(text, writer_name="html5", settings_overrides={
        "halt_level": 2, "report_level": 2, "file_insertion_enabled": False, "raw_enabled": False,
        "smart_quotes": False, "syntax_highlight": "none"})["fragment"]
    # Names of tracepoints look like addresses.
    body = re.sub(r'<a class="reference external" href="(?!#)[^"]*">(.*?)</a>', r"\1", body)
    # The commands of an example, also those that go on in the next line.
    return re.sub(r"(?m)^((?:<pre[^>]*>)?)(# (?:.*\\\n)*.*?)(</pre>)?$", lambda m: f"{m[1]}<b>{m[2]}</b>{m[3] or ''}", body)


def index(text, tools):
    """WHICH TOOL: paragraphs "Title::" with lines "question  command"."""
    out, rows = [], []

    def end():
        if rows:
            out.append("<table>" + "".join(rows) + "</table>")
        rows.clear()
    for line in text.splitlines():
        if line.endswith("::"):
            end()
            out.append(f"<h3>{html.escape(line[:-2])}</h3>")
        elif m := re.fullmatch(r"    (.*?\S)  +([a-z].*)", line):
            tool = m[2].split()[0]
            command = html.escape(m[2], quote=False)
            if tool in tools:
                command = f'<a href="#{tool}">{tool}</a>{command[len(tool):]}'
                rows.append(f"<tr><td>{html.escape(m[1], quote=False)}</td><td><code>{command}</code></td></tr>\n")
    end()
    return "\n".join(out)


def main(version, overview, style, *pages):
    pages = {os.path.basename(p)[:-len(".rst")]: read(p) for p in pages}
    which = sections(read(overview))["WHICH TOOL"]
    named = re.findall(r"(?m)^    .*  ([a-z-]+)", which)
    order = sorted(pages, key=lambda tool: (named.index(tool) if tool in named else len(named), tool))
    print(f"""<!DOCTYPE html>
<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause -->
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>plumb {version}: examples</title>
<style>
{read(style)}</style>
</head>
<body>
<nav>
<ul>
<li><a href="#top">Which tool</a></li>
{"".join(f'<li><a href="#{tool}">{tool}</a></li>' + chr(10) for tool in order)}</ul>
</nav>
<main>
<h1 id="top">plumb {version}: examples</h1>
{as_html(INTRO)}
{index(which, pages)}""")
    for tool in order:
        text = pages[tool]
        summary = re.search(r"(?m)^-{4,}\n(.*)\n-{4,}$", text)[1]
        print(f'<section id="{tool}">\n<h2>{tool}</h2>\n<p>{html.escape(summary)}</p>')
        print(as_html(linked(sections(text)["EXAMPLES"], pages)) + "\n</section>")
    print("</main>\n</body>\n</html>")


if __name__ == "__main__":
    main(*sys.argv[1:])
