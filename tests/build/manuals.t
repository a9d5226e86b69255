#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Manual pages are formatted without a warning of man, which lintian reports, too; those of tools have their
# sections in one order, the examples on the first screen or two, and lead to pages that exist.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

command -v man >/dev/null || { echo "1..0 # SKIP there is no man"; exit 0; }
for page in build/man/*.[1-8]; do
	is "no warning: ${page##*/}" "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 "$page" 2>&1 >/dev/null)" ""
done

rendered() {
	LC_ALL=C.UTF-8 MANWIDTH=80 man -E UTF-8 -l "$1" | col -b
}

# Sections of which a page has some: 'own' stands for those that only this page has.
order=(NAME SYNOPSIS DESCRIPTION EXAMPLES COLUMNS own OPTIONS MECHANISM KERNELS 'FIRE RATE' OVERHEAD CAVEATS 'OTHER NAMES'
	'COMMON OPTIONS' 'THE WAY OUT' 'IN FLIGHT' 'THE FOOTER' 'EXIT STATUS' PRIVILEGES 'SEE ALSO')
# The same names for what is the tool's own.
own=" probe-check:EXIT STATUS probe-cost:EXIT STATUS probe-list:EXIT STATUS probe-misses:EXIT STATUS trace-bias:EXIT STATUS
 hist-merge:EXIT STATUS hist-merge:PRIVILEGES"

# The sections of a page on stdin, each with its place in that order, that are before the one ahead of them.
out_of_order() {
	local section place last=0 i
	while IFS= read -r section; do
		place=5
		for i in "${!order[@]}"; do
			[[ ${order[i]} != "$section" || $own == *"$1:$section"* ]] || place=$i
		done
		((place >= last)) || echo "$section"
		last=$place
	done
}

# The pages that SEE ALSO of a source names and that neither plumb nor BCC has.
leads_nowhere() {
	local page
	sed -n '/^SEE ALSO$/,$p' "$1" | grep -oE '[*]{2}[a-z0-9-]+[*]{2}[\] ?[(][1-8][)]' | tr -cd 'a-z0-9()\n-' | tr '()' '. ' |
		while read -r page; do
			[[ -e build/man/$page || -e windows/${page%.*}.rst || $page == *-bpfcc.8 ]] || echo "$page"
		done
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for page in build/man/*.8; do
	tool=$(basename "$page" .8)
	source=tools/$tool/$tool.rst
	rendered "$page" >"$work/page"
	is "$tool: its sections are in order" "$(sed '1d;$d' "$work/page" | grep '^[A-Z]' | out_of_order "$tool")" ""
	claim "... its examples begin within 60 lines" grep -qx EXAMPLES <(head -n 60 "$work/page")
	like "... it leads to plumb(7)" "$(sed -n '/^SEE ALSO$/,$p' "$source")" '[*]plumb[*][*].*[(]7'
	is "... and to pages that exist" "$(leads_nowhere "$source")" ""
done
is "the table of privileges has every tool" "$(sed -nE '/^ +TOOL /,/^$/s/^ +([a-z-]+) .*/\1/p' tools/lib/manual/privileges.rst | sort)" \
	"$(find tools -mindepth 1 -maxdepth 1 -type d ! -name lib -printf '%f\n' | sort)"
is "plumb(7) leads to pages that exist" "$(leads_nowhere tools/lib/manual/plumb.7.rst)" ""
claim "plumb(7) has at most 260 lines" test "$(rendered build/man/plumb.7 | wc -l)" -le 260
done_testing
