#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# renamed-names.awk RENAMED.LIST [NAME.targets]: the end of a tool's manual page: which of the
# functions and tracepoints that it hooks have another name on some kernels.

FNR == NR {
	if (!/^#/) {
		kernels = $3
		for (i = 4; i <= NF; i++)
			kernels = kernels " " $i
		others[$1] = others[$1] "| " $1 " is *" $2 "* " kernels "\n"
	}
	next
}

{
	for (i = 2; i <= NF; i++) {
		name = $i
		sub(".*:", "", name)
		if (!(name in others) || name in told)
			continue
		told[name] = 1
		if (!n++)
			print "\nOTHER NAMES\n===========\nOn some kernels these have other names, by which they are found, too:\n"
		printf "%s", others[name]
	}
}
