# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# probe-cost: measures each mechanism that the kernel has, says why of the others, and func-count tells its figures.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-count quick=--no-calibrate
	uname -r >kernel
	case $(uname -m) in
	aarch64) entry=__arm64_sys_ ;;
	*) entry=__x64_sys_ ;;
	esac
	export PLUMB_CACHE="$PWD/cache"
	probe-cost -j </dev/null >costs.json 2>costs.err
	echo $? >costs.status
	# shellcheck disable=SC2034 # not by one that is forced, but by whichever holds
	mechanism=
	traced counted "${entry}sched_get_priority_max" -- calls 101 priority
}

# What each kernel of the matrix has to offer. Others may as well.
measured_on() {
	case $1 in
	5.10.* | 6.1.*) echo raw_tp tracepoint fentry fexit kprobe kretprobe uprobe uretprobe bystander ;;
	6.12.*) echo "$(measured_on 6.1.0) kprobe.multi kprobe.session uprobe.multi" ;;
	7.*) echo "$(measured_on 6.12.0) fsession" ;;
	*) echo raw_tp tracepoint ;;
	esac
}

# of MECHANISM - its rows are there, or it was refused by a kernel that may
of() {
	case " $(measured_on "$(cat kernel)") " in
	*" $1 "*)
		holds "$1 is measured" costs.json \
			'[$last.rows[] | select(.mechanism == $name and .low <= .ns and .ns <= .high).body]
				== (if $name == "bystander" then ["syscall"] else ["empty", "counter", "histogram"] end)' --arg name "$1"
		;;
	*)
		holds "$1 is measured, or it is said why not" costs.json '[$last.rows[] | select(.mechanism == $name)]
			| length == 3 or (length == 1 and (.[0] | .body == "syscall" or (.refused | test("^E[A-Z]+, "))))' --arg name "$1"
		;;
	esac
}

# rising CLAIM MECHANISM... - programs that do nothing, of those that are measured: as far as the intervals tell
rising() {
	claim=$1
	shift
	holds "$claim" costs.json '[$last.rows[] | select(.body == "empty")] | INDEX(.mechanism) as $by
		| [$names | split(" ")[] | $by[.] | select(.ns)] as $all
		| all(range(1; $all | length); $all[. - 1].low <= $all[.].high)' --arg names "$*"
}

needs() {
	holds "$1 says what it needs" costs.json \
		'[$last.rows[] | select(.mechanism == $name).refused] | length == 0 or (.[0] | contains("needs Linux " + $since))' \
		--arg name "$1" --arg since "$2"
}

check() {
	evidence costs.json costs.err
	is "it ends well" "$(cat costs.status)" 0
	for name in raw_tp tracepoint fentry fexit fsession kprobe kretprobe kprobe.multi kprobe.session uprobe uretprobe \
		uprobe.multi bystander; do
		of "$name"
	done
	case $(cat kernel) in
	5.10.* | 6.1.* | 6.12.*) needs fsession 7.0 ;;
	esac
	case $(cat kernel) in
	5.10.* | 6.1.*)
		needs kprobe.multi 5.18
		needs kprobe.session 6.10
		needs uprobe.multi 6.6
		;;
	esac
	rising "functions: fentry is cheaper than a kprobe, and that than a kretprobe" fentry kprobe kretprobe
	rising "both ends are dearer than one, through fprobe" kprobe.multi kprobe.session
	rising "a raw tracepoint is cheaper than one through a perf event" raw_tp tracepoint
	rising "a user function is dearer than any of the kernel" kretprobe uprobe
	holds "a histogram is dearer than nothing" costs.json '[$last.rows[] | select(.ns)]
		| map(select(.mechanism | test("^(u|bystander)") | not)) | group_by(.mechanism)
		| length > 1 and all(.[]; INDEX(.body) | .empty.low < .histogram.high)'
	evidence costs.json counted.json counted.err
	if [ "$(cat counted.status)" = 77 ]; then
		like "func-count cannot, and says why" "$(cat counted.err)" 'refused: '
		return
	fi
	holds "func-count tells the figures that were kept" counted.json '[$costs[0].rows[] | select(.body == "counter")]
		| INDEX(.mechanism) as $kept | $last.rows[0].cost | length > 0
		and all(to_entries[]; .value.how == "probe-cost" and .value.ns == $kept[.key].ns)' --slurpfile costs costs.json
}
