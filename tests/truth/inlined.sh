# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Functions that the compiler inlined, wholly or in part: counted where they are, or said.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-count quick=--no-calibrate
	uname -r >kernel
	file=$(command -v inlined)
	# shellcheck disable=SC2034 # by attach_each
	mechanisms=${mechanism:-uprobe.multi uprobe}
	start all inlined 1009
	attach_each all -d 90 -p "$pid" "u:$file:in_all" "u:$file:in_some" "u:$file:in_part"
	attach begins -d 90 -p "$pid" "u:$file:in_all" "u:$file:first" "u:$file:second"
	attach glob -d 90 -p "$pid" "u:$file:in_*"
	program=func-stack
	attach stacks --inlines -p "$pid" "u:$file:in_all"
	program=user-func-latency
	attach timed -p "$pid" "$file:in_some"
	go all
	detach_each all
	detach begins glob stacks timed
	# What is said of a target is not about a mechanism that is refused.
	for mech in $mechanisms; do
		grep 'also counted' "all-$mech.err" >"all-$mech.said"
		sed -i '/also counted/d' "all-$mech.err"
	done
	for one in in_all in_part; do
		traced "refused-$one" "$file:$one"
	done
}

check_mechanism() {
	forced "all-$1" "$1" || return
	holds "$1: inlined functions are counted as often as they count themselves" "all-$1.json" '
		($last.rows | map([(.key.func | sub(".*:"; "")), .count]) | sort)
			== ($truth[0].calls | map([.function, .count]) | sort)' --slurpfile truth all.truth
	like "$1: ... which is said" "$(cat "all-$1.said")" 'in_all in .*inlined: also counted at 3 inlined places
.*in_some in .*inlined: also counted at 2 inlined places
.*in_part in .*inlined: also counted at 2 inlined places'
}

check() {
	# shellcheck disable=SC2034 # by forced
	case $(cat kernel) in
	5.10.* | 6.1.*) must=' uprobe' ;;
	*) must=' uprobe uprobe.multi' ;;
	esac
	evidence all.truth
	for name in uprobe.multi uprobe; do
		check_mechanism "$name"
	done
	evidence begins.json glob.json glob.err timed.json timed.err stacks.json
	holds "a function that begins with an inlined one is another target" begins.json '
		($last.rows | map([(.key.func | sub(".*:"; "")), .count]) | sort) == [["first", 1009],
			["in_all", ($truth[0].calls[] | select(.function == "in_all").count)], ["second", 1009]]' --slurpfile truth all.truth
	holds "a glob means functions with a symbol, and where these are inlined" glob.json '
		($last.rows | map(select(.key.func | endswith(":in_some")).count)) == ($truth[0].calls | map(select(.function == "in_some").count))
		and ($last.rows | map(.key.func | sub(".*:"; "")) | sort | . == ["in_part.part.0", "in_some"] or . == ["in_some"])' \
		--slurpfile truth all.truth
	holds "stacks are taken there" stacks.json '([$last.rows[].count] | add) == ($truth[0].calls[] | select(.function == "in_all").count)' \
		--slurpfile truth all.truth
	like "what is inlined is not timed, which is said" "$(cat timed.err)" 'in_some in .*inlined is also inlined at 2 places, which are not timed'
	holds "... the other calls are" timed.json '($last.rows | map(.count)) == [1009]'
	like "a function that is only inlined is refused" "$(cat refused-in_all.status refused-in_all.err)" \
		'^1
.*in_all in .*inlined: all calls are inlined, at 3 places, which cannot be timed'
	like "... and its part is named" "$(cat refused-in_part.err)" 'in_part in .*inlined: calls may enter in_part.part.0: name it, too'
}
