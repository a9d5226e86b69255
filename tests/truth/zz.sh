# shellcheck shell=sh
. "$truth/lib/limits.sh"
run() {
	quick=--no-calibrate
	i=0
	for th in 2 8 16 32 8 16; do
		i=$((i + 1))
		start w$i contend $th $((60000 / th)) pread
		limited l$i cpu.max="20000 100000" || limited l$i cpu.cfs_quota_us=20000
		echo "$pid" >$limited/cgroup.procs
		start h$i contend 6 400000 getppid
		hog=$pid
		program=file-latency; attach fl$i -b op -p "$(cat w$i.pid)"
		program=file-latency; attach fc$i -b op -c contender
		program=file-io-breakdown; attach fb$i -b syscall -p "$(cat w$i.pid)"
		program=syscall-latency; attach sl$i -s pread64 -p "$(cat w$i.pid)"
		attached
		open_gate h$i go
		go w$i
		detach fl$i fc$i fb$i sl$i
		finish h$i $hog
	done
}
check() {
	for i in 1 2 3 4 5 6; do
		for t in fl fc fb sl; do
			holds "$t$i" $t$i.json '($truth[0].calls | map(.count) | add) as $m | $last.ledger as $l | ($l.recorded >= $m and $l.recorded <= $m + 40 and $l.lost_at_least == 0) or error("made \($m) \($l)")' --slurpfile truth w$i.truth
		done
	done
}
