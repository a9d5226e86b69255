#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# renamed-names.awk RENAMED.LIST [NAME.targets] NAME.rst: the source of a tool's manual page, with a section of
# its own before what all tools have: which of the functions and tracepoints that it hooks have another name on
# some kernels.

FILENAME == ARGV[1] {
	if (!/^#/) {
		kernels = $3
		for (i = 4; i <= NF; i++)
			kernels = kernels " " $i
		others[$1] = others[$1] "| " $1 " is *" $2 "* " kernels "\n"
	}
	next
}

FILENAME ~ /[.]targets$/ {
	for (i = 2; i <= NF; i++) {
		name = $i
		sub(".*:", "", name)
		if (name in others && !(name in told)) {
			told[name] = 1
			section = section others[name]
		}
	}
	next
}

section && /^COMMON OPTIONS$/ {
	print "OTHER NAMES\n===========\nOn some kernels these have other names, by which they are found, too:\n"
	print section
}

{ print }
