# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced by tests of packages after tests/lib.sh.

# page_of_examples FOLDER - the heading of the page of all examples there
page_of_examples() {
	sed -nE 's/.*<h1 id="top">([^:]*):.*/\1/p' "$1/examples.html" 2>&1
}

# leads_nowhere FOLDER - links of its README.md to files that are not there, what is left of a picture, or "no README.md"
leads_nowhere() {
	local link readme=("$1"/README.md*)
	zgrep -q '^# plumb' "${readme[0]}" 2>/dev/null || echo "no README.md"
	zgrep '^!' "${readme[0]}"
	zcat -f "${readme[0]}" 2>/dev/null | grep -oE '\]\([^)]*\)' | sed 's/^](//; s/[)#].*//' | while read -r link; do
		[[ $link == *:* || -e $1/$link ]] || echo "$link"
	done
}
