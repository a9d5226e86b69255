#!/usr/bin/awk -f
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# renamed-names.awk RENAMED.LIST [NAME.targets]: the end of a tool's manual page: which of the
# functions and tracepoints that it hooks have another name on some kernels.

FNR == NR {
	if (!/^#/) {
		other[$1] = $2
		kernels[$1] = $3 " " $4 " " $5
	}
	next
}

{
	for (i = 2; i <= NF; i++) {
		name = $i
		sub(".*:", "", name)
		if (!(name in other) || name in told)
			continue
		told[name] = 1
		if (!n++)
			print "\nOTHER NAMES\n===========\nOn some kernels these have other names, by which they are found, too:\n"
		sub(" +$", "", kernels[name])
		printf "| %s is *%s* %s\n", name, other[name], kernels[name]
	}
}
