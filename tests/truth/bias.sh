# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# trace-bias: a tracer that makes a workload do a fifth more, one that does nothing, and one of ours.

run() {
	uname -r >kernel
	cat >units <<'END'
#!/bin/sh
units=1000
[ ! -e held ] || units=1200
i=0
while [ $i -lt $units ]; do i=$((i + 1)); done
echo "units $units"
END
	cat >slow <<'END'
#!/bin/sh
trap 'rm -f held; exit 0' INT
: >held
echo tracing
while :; do sleep 0.1; done
END
	cat >empty <<'END'
#!/bin/sh
echo tracing
while :; do sleep 0.1; done
END
	chmod +x units slow empty
	for tracer in slow empty; do
		trace-bias -j --pairs 5 --seed 1 --metric 'units ([0-9]+)' --tool "./$tracer" -- ./units \
			>"$tracer.json" 2>"$tracer.err"
		echo $? >"$tracer.status"
	done
	everything || return 0
	trace-bias -j --pairs 11 --metric '"50":([0-9]+)' --tool "syscall-latency --no-calibrate ${mechanism:+--mechanism=$mechanism} -p {}" \
		-- calls 30000 priority >ours.json 2>ours.err
	echo $? >ours.status
}

metric() {
	evidence "$2.json" "$2.err"
	holds "$1" "$2.json" "\$last.measures | map(select(.name == \"metric\") | $3) == [true]"
}

check() {
	metric "a fifth more is a bias, and measured" slow '.verdict == "biased" and (.change_percent | .low > 19.999 and .high < 20.001)'
	is "a bias is status 3" "$(cat slow.status)" 3
	metric "nothing is none" empty '.verdict == "unbiased" and .change_percent.median == 0'
	evidence empty.json empty.err
	holds "its pairs are all there" empty.json '$last.pairs | length == 5 and all(.[]; .without.wall > 0 and .with.cpu > 0)'
	everything || return 0
	[ -s ours.json ] || { unable_here; return; }
	evidence ours.json ours.err
	holds "syscall-latency is a bias to what only makes system calls, by what these take themselves" ours.json \
		'$last.verdict == "biased" and ($last.measures[] | select(.name == "metric") | .verdict == "biased" and .change_percent.low > 5)'
}

# Where it may be that it cannot trace, by the mechanism that is asked for.
unable_here() {
	evidence ours.err
	like "where the tool cannot trace, it says why" "$(cat ours.err)" 'the tool ended with status 77 before it was ready: .* refused: '
}
