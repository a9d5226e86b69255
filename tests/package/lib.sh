# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Sourced by tests of packages after tests/lib.sh.

# leads_nowhere FOLDER - links of its README.md to files that are not there, or "no README.md"
leads_nowhere() {
	local link readme=("$1"/README.md*)
	zgrep -q '^# plumb' "${readme[0]}" 2>/dev/null || echo "no README.md"
	zcat -f "${readme[0]}" 2>/dev/null | grep -oE '\]\([^)]*\)' | sed 's/^](//; s/[)#].*//' | while read -r link; do
		[[ $link == *:* || -e $1/$link ]] || echo "$link"
	done
}
