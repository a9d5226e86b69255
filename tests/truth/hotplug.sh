# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# CPUs that come online, or back: events of each CPU are opened on them, too.  Never of the host.

# cpu1 ONLINE
cpu1() {
	echo "$1" >/sys/devices/system/cpu/cpu1/online
}

# How many events TOOL has opened on a CPU that came.
opened() {
	[ "$(grep -c 'CPU 1 is online: an event is opened' "$1.err")" -ge "$2" ]
}

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=cpu-profile quick=--no-calibrate
	if ! grep -q 'QEMU TCG' /proc/cpuinfo || [ ! -w /sys/devices/system/cpu/cpu1/online ]; then
		echo "not of the host's CPUs" >hotplug.skip
		return
	fi
	cpu1 0
	attach late -v -b cpu -c busy
	program=page-fault-latency
	attach late-faults -v --mechanism=perf_event -b comm -c happens-to
	program=syscall-count
	attach no-events -s getppid
	attached
	cpu1 1
	await 30 opened late 1
	await 30 opened late-faults 3
	taskset -c 1 busy user 2000 >late.truth
	taskset -c 1 env WORKLOAD_JSON="$PWD/late-faults.truth" happens 1009 0 0 0 >happens.out 2>&1
	detach late late-faults no-events

	program=cpu-profile
	attach back -v --strict -b cpu -c busy
	program=event-rate
	attach back-faults -v --strict --mechanism=perf_event -b comm -c happens-to page-faults
	program=page-fault-latency
	attach stays --mechanism=perf_event -b comm -c nobody -d 0.1
	attached
	finish stays "$(cat stays.pid)"
	cpu1 0
	cpu1 1
	await 30 opened back 1
	await 30 opened back-faults 1
	taskset -c 1 busy user 2000 >back.truth
	taskset -c 1 env WORKLOAD_JSON="$PWD/back-faults.truth" happens 1009 0 0 0 >happens.out 2>&1
	detach back back-faults
}

# sampled NAME CLAIM - the timer of an emulated CPU fires less often than it should
sampled() {
	evidence "$1.json" "$1.err" "$1.truth" notes
	holds "$2" "$1.json" '[$last.rows[] | select(.key.cpu == 1).count] | add >= 20' || :
	holds "... which JSON says" "$1.json" '$last.ledger.cpus_changed == true' || :
	like "... and a warning" "$(cat "$1.err")" 'CPUs went online or offline' || :
}

check() {
	if [[ -e hotplug.skip ]]; then
		skip "a CPU that comes online is sampled" "$(cat hotplug.skip)"
		return
	fi
	sampled late "a CPU that comes online is sampled"
	sampled back "... and one that was offline meanwhile"
	is "... and --strict fails" "$(cat back.status back-faults.status)" $'3\n3'
	evidence late-faults.json late-faults.err late-faults.truth back-faults.json back-faults.err back-faults.truth
	holds "faults on such a CPU are timed" late-faults.json '[$last.rows[].count] == [1009]'
	holds "... and counted" back-faults.json '[$last.rows[].count] == [1009]'
	holds "... and their ledger says that a CPU changed" back-faults.json '$last.ledger.cpus_changed == true'
	holds "CPUs that stay online are not said to change" stays.json '$last.ledger.cpus_changed == false'
	holds "where there are no events of CPUs, nobody looks" no-events.json '$last.ledger.cpus_changed == null'
}
