#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the build makes of all manual pages: one page of their examples, and the file for programs.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

page=build/doc/examples.html
mapfile -t tools < <(find tools -mindepth 2 -maxdepth 2 -name '*.rst' ! -path 'tools/lib/*' | sort)
problems() { /usr/bin/python3 tests/build/docs.py "$1" "$page" "${tools[@]}" 2>&1 | sed '/^$/d'; }
like "the examples are built" "$(head -n 1 "$page")" '^<!DOCTYPE html>$'
is "its elements are closed, and no id is there twice" "$(problems tags)" ""
is "its links lead to what is in it" "$(problems links)" ""
is "it loads nothing" "$(problems loads)" ""
is "its examples are those of all manual pages, in their sections" "$(problems examples)" ""
version=$(sed -n 's/^VERSION  := //p' Makefile)
claim "it is of this version" grep -qF "<h1 id=\"top\">plumb $version:" "$page"
is "the index has every tool" "$(grep -oE '<li><a href="#[a-z-]+' "$page" | sed 's/.*#//' | grep -v top | sort)" \
	"$(printf '%s\n' "${tools[@]}" | sed 's#.*/##; s/[.]rst$//' | sort)"

# Tools that are part of the collection.
mapfile -t listed < <(sed -nE 's#^\| \[([a-z-]+)\]\(tools/.*#tools/\1/\1.rst#p' README.md)
programs=build/doc/programs.md
claim "programs.md is of this version" grep -qF "# plumb $version for programs" "$programs"
is "it has every tool, with what its manual page says of it" "$(sed -n 's/^## \([a-z-]*: .*\)/\1/p' "$programs" | sort)" \
	"$(for tool in "${listed[@]}"; do echo "$(basename "$tool" .rst): $(awk '/^---/ { getline; print; exit }' "$tool")"; done | sort)"
is "it has every member of the ledger" "$(sed -nE 's/^- `([a-z_]+)`: .*/\1/p' "$programs" | sort)" \
	"$(jq -r '.["$defs"].ledger.properties | keys[]' build/plumb-2.schema.json | sort)"
is "nothing of its source is left to be filled in" "$(grep -n '@[A-Z]*@' "$programs")" ""
done_testing
