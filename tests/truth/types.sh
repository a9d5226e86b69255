# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# A kernel that has no types in /sys: with --btf FILE, function tools reach the kprobes.

run() {
	# shellcheck disable=SC2034 # by what judges
	program=func-latency quick=--no-calibrate
	uname -r >kernel
	cat /sys/kernel/btf/vmlinux >types
	# The tool in a name space where an empty file system hides them.
	cat >hidden <<-END
		#!/bin/sh
		exec unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec func-latency "\$@"' sh "\$@"
	END
	chmod +x hidden
	# shellcheck disable=SC2034
	program=$PWD/hidden
	start target calls 1009 write:100@40
	attach given --btf=types -b func,ret,arg:count -p "$pid" write_null
	go target
	detach given
	traced without -d 1 write_null
	echo nothing >empty
	traced wrong --btf=empty -d 1 write_null
}

check() {
	evidence without.err wrong.err
	is "without types it cannot be done" "$(cat without.status)" 77
	like "... and the way out is named" "$(cat without.err)" '--btf FILE'
	is "a file that holds none cannot be used" "$(cat wrong.status)" 1
	like "... and is named" "$(cat wrong.err)" 'empty'
	if unable given; then
		return
	fi
	evidence given.json given.err
	holds "with --btf a kprobe counts the calls, by argument and result" given.json \
		'($last.mechanism.name | startswith("kprobe")) and ($last.rows | map([.key, .count]))
			== [[{"func": "write_null", "arg:count": 100, "ret": 100}, 1009]]'
	holds "... and says why fentry is not used" given.json \
		'$last.mechanism.refused | map(select(.name == "fentry")) | length == 1 and (.[0].why | test("own BTF"))'
	holds "... and knows of misses what the kernel counts" given.json \
		'$last.ledger.missed == (if $last.kernel | test("^(5|6[.]1)[.]") then null else 0 end)'
	sound "of given types" given.json
}
