# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Cgroups with a limit, for groups whose threads wait because of it.

# limited NAME FILE=VALUE... - makes a cgroup where all of these files are; $limited is its cgroup.procs
limited() {
	limited=$1
	shift
	for top in $(awk '$3 == "cgroup2" || $3 == "cgroup" { print $2 }' /proc/self/mounts); do
		for setting; do
			[ ! -w "$top/cgroup.subtree_control" ] || echo "+${setting%%.*}" >"$top/cgroup.subtree_control"
		done
		mkdir -p "$top/plumb-$limited-$$" || continue
		# shellcheck disable=SC2034 # by what the run does at its end
		cgroups="$cgroups $top/plumb-$limited-$$"
		for setting; do
			[ -e "$top/plumb-$limited-$$/${setting%%=*}" ] || continue 2
			echo "${setting#*=}" >"$top/plumb-$limited-$$/${setting%%=*}" || continue 2
		done
		limited=$top/plumb-$limited-$$
		return 0
	done 2>/dev/null
	return 1
}

# throttled_ns FILE - what cpu.stat said
throttled_ns() {
	awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { printf "%.0f\n", $2 * 1000 }' "$1"
}
