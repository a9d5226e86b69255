# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# func-latency: calls that a mechanism misses are in the ledger, where the kernel can tell.

# shellcheck source=lib/disks.sh
. "$truth/lib/disks.sh"

# Requests of AIO, whose completions come in interrupts, beside reads on whose functions programs run.
interrupted() {
	load configfs
	load null_blk nr_devices=0
	mount -t configfs none /sys/kernel/config 2>/dev/null
	n_disks=0
	null_blk timed 1000000 64 || return
	program=file-latency
	for i in 1 2 3; do
		start "busy-$i" contend 8 3000 pread
		busy=$pid
		attach "aio-$i" --mechanism=kprobe --op=read -b op -c disks,contender
		attached
		open_gate "busy-$i" go
		for one in 1 2 3; do
			disks adjacent "/dev/$disk" 64 20 2>/dev/null &
			started="$started $!"
		done
		disks adjacent "/dev/$disk" 64 20 2>/dev/null
		finish "busy-$i" "$busy"
		await 20 has_ended disks
		detach "aio-$i"
	done
}

has_ended() {
	! pidof "$1" >/dev/null
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=func-latency quick=--no-calibrate
	uname -r >kernel
	# More calls at the same time than a kretprobe can remember returns: 10, or twice the CPUs, if
	# that is more; before 6.1 as many as CPUs, where the kernel is not preemptible.
	start held midcall 40 23
	attach_each held --strict -b func -p "$pid" ksys_read
	attached
	open_gate held go
	await 20 [ -e held.gates/blocked ]
	open_gate held end
	await 20 [ -e held.gates/done ]
	open_gate held leave
	finish held "$pid"
	detach_each held

	# -b cgroup makes the tool's programs call a function that they are attached to. (On 5.10 nothing
	# but a guard of their own keeps those of fentry's kind from calling themselves without end.)
	for mech in $mechanisms; do
		start "target-$mech" calls 1009 lseek
		attach "triggered-$mech" "--mechanism=$mech" -b func,cgroup -p "$pid" bpf_get_current_cgroup_id null_lseek
		go "target-$mech"
		detach "triggered-$mech"
	done
	[ ! -e /modules/null_blk.ko ] || interrupted
}

# Does MECHANISM forget returns on this kernel? And can the kernel tell?
forgets() {
	case $1/$(cat kernel) in
	kprobe.*/6.*) true ;; # kprobe has room for 4096 calls
	*) false ;;
	esac
}

tells() {
	case $1/$(cat kernel) in
	*/5.* | kprobe*/6.[0-6].*) false ;;
	*) true ;;
	esac
}

check_mechanism() {
	# A program that was missed need not be one of these calls', and an exit without an entry is counted by the tool.
	lost=$(jq '.ledger | .lost // .lost_at_least // 0 | . > 0' "held-$1.json")
	forced "held-$1" "$1" "$([ "$lost" = true ] && echo 3 || echo 0)" || return
	evidence "held-$1.json" "held-$1.err" held.truth
	whole "of held calls, $1" "held-$1.json"
	holds "$1: no call is recorded that was not made" "held-$1.json" \
		'($last.rows | map(.key)) == [{"func": "ksys_read"}] and $last.ledger.recorded <= 960
			and $last.rows[0].max <= ($truth[0].calls | map(.max) | max)' --slurpfile truth held.truth
	if tells "$1"; then
		# By fentry an in-flight slot whose exit was missed stays taken.
		holds "$1: of 960 calls all are recorded or lost" "held-$1.json" \
			'$last.ledger | .recorded + (.lost // .lost_at_least) + (if $name == "fentry" then .in_flight else 0 end) >= 960' --arg name "$1"
	else
		holds "$1: how many it missed, this kernel cannot tell" "held-$1.json" '$last.ledger.missed == null'
	fi
	if forgets "$1"; then
		holds "$1: returns of blocked calls are forgotten" "held-$1.json" '$last.ledger.recorded <= 930'
	elif [ "$2" != preemptible ]; then
		# Others call it too, who may make a program miss a call.
		holds "$1: all of them are recorded" "held-$1.json" '$last.ledger.recorded == 960'
	fi
}

triggered() {
	[ -e "triggered-$1.status" ] && forced "triggered-$1" "$1" || return
	evidence "triggered-$1.json" "triggered-$1.err"
	whole "of triggered calls, $1" "triggered-$1.json"
	holds "$1: what its own programs trigger does not keep it from counting the others" "triggered-$1.json" \
		'$last.rows | map(select(.key.func == "null_lseek") | .count) == [1009]'
	if tells "$1"; then
		holds "$1: the calls that its own programs triggered are missed, and that is in the ledger" \
			"triggered-$1.json" '$last.ledger.missed >= 1009'
	fi
}

check() {
	for i in 1 2 3; do
		[ -e "aio-$i.json" ] || continue
		forced "aio-$i" kprobe || break
		evidence "aio-$i.json" "aio-$i.err"
		holds "file-latency: requests of AIO that have ended are not listed as hanging, $i" "aio-$i.json" \
			'[$last.in_flight[]? | select(.op | startswith("aio:"))] == [] and $last.ledger.recorded > 0'
	done
	for mech in $(mechanisms); do
		case $mech/$(cat kernel) in
		f*/7.*) check_mechanism "$mech" preemptible ;;
		*) check_mechanism "$mech" "" ;;
		esac
		triggered "$mech"
	done
}
