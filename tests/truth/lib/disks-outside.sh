# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# For block-disks: disks of the emulated machine that QEMU throttles, fio, and a journal.

# QEMU lets a tenth of a second's requests pass at once, also when nothing was asked of it meanwhile.
# So these run while nothing else does, and one at a time at a lower rate (machines/block-disks.sh).
virtio_disks() {
	load virtio_blk
	[ -e /dev/vdd ] || {
		echo "the machine has no virtio disks" >virtio.skip
		return
	}
	start_on vda vda 4096 1 31 0 0
	start_on vdb vdb 4096 8 19 0 0
}

# fio's disks: two of null_blk, two throttled ones.
fio_disks() {
	mkdir fio
	mount -t ext4 -o ro /dev/vde fio 2>fio.skip || return
	rm fio.skip
	null_blk fio-1 2000000 64 && null_blk fio-32 2000000 64 || return
	echo vdc >fio-throttled-1.disk
	echo vdd >fio-throttled-32.disk
}

run_virtio() {
	open_gate vda go
	go_to_done vdb
	await 60 [ -e vda.gates/done ]
	[ -e fio.skip ] || run_fio
}

# job NAME DEPTH READS - of fio, in $jobs
job() {
	jobs="$jobs --name=$1 --filename=/dev/$(cat "$1.disk") --iodepth=$2 --number_ios=$3"
}

run_fio() {
	jobs=
	job fio-1 1 200
	job fio-32 32 1000
	job fio-throttled-1 1 60
	job fio-throttled-32 32 200
	for name in fio-throttled-1 fio-throttled-32; do
		cat "/sys/block/$(cat "$name.disk")/stat" >$name.before
	done
	# shellcheck disable=SC2086 # words
	fio/ld-linux-x86-64.so.2 --library-path fio fio/fio --output=fio.json --output-format=json --percentile_list=50:99 \
		--clat_percentiles=1 --lat_percentiles=1 --direct=1 --rw=randread --bs=4096 --ioengine=libaio $jobs 2>fio.err
	for name in fio-throttled-1 fio-throttled-32; do
		cat "/sys/block/$(cat "$name.disk")/stat" >$name.after
	done
}

# A file system with a journal, on a disk with a cache.
journal() {
	null_blk journal 100000 64 memory_backed=1 size=16 cache_size=1 || return
	gzip -d <"$truth/lib/journal.img.gz" >"/dev/$disk" && mkdir journaled &&
		mount -t ext4 -o noinit_itable,commit=300 "/dev/$disk" journaled || {
		echo "no ext4 with a journal" >journal.skip
		return
	}
	sync
}

# journal_counts FILE - transactions; reads, writes and flushes of the disk
journal_counts() {
	{
		awk 'NR == 1 { print $1 }' "/proc/fs/jbd2/$disk-8/info"
		awk '{ print $1; print $5; print $16 }' "/sys/block/$disk/stat"
	} >"$1"
}

is_quiet() {
	journal_counts journal.now
	sleep 0.2
	journal_counts journal.after
	cmp -s journal.now journal.after
}

# Each file that is made makes a transaction.
run_journal() {
	disk=$(cat journal.disk)
	journal_counts journal.before
	for i in 1 2 3 4 5 6 7; do
		dd if=/dev/zero of="journaled/$i" bs=4096 count=1 conv=fsync 2>/dev/null
	done
	await 10 is_quiet
}

# --- claims ---

# throttled_to DEPTH RATE NAME - at 90 %, as after a stall of the machine some requests pass at once
throttled_to() {
	disk_is_true "a throttled disk, $1 at a time" "$3"
	of_all "... takes as long in the device as the limit makes it" '
		('"$1 / $2"' * 1e9) as $limit
		| rows("device"; .key.disk == $a) | [map(.percentiles["50"]), map(.percentiles["90"])] | map(add / length)
		| if .[0] <= $limit * 1.3 and .[1] >= $limit * 0.8 then true else error("\(.) ns") end' "$3"
}

# by_fio NAME LEAST - it is the same reads that fio times from before the tool does until after
by_fio() {
	evidence fio.json all.err
	of_all "fio, $1: no longer than fio's whole time, no shorter than the disk takes" '
		$fio[0].jobs[] | select(.jobname == "'"$1"'").read as $f
		| whole(.key.disk == $a and .key.op == "read" and .count >= 60) as $w
		| if ($w | length) == 1 and $w[0].count == $f.total_ios
			and $w[0].sum <= $f.lat_ns.mean * $f.total_ios * 1.0001 and $w[0].max <= $f.lat_ns.max
			and all("50", "99"; $w[0].percentiles[.] <= $f.lat_ns.percentile[. + ".000000"] * 1.03)
			and $w[0].percentiles["90"] >= '"$2"'
			then true else error("\($w | map(del(.hist))), \($f | {lat_ns, clat_ns})") end' "$1"
}

# as_kernel NAME - the kernel adds up, in ms, the time from when it had a request until its end
as_kernel() {
	evidence fio.json all.err "$1.before" "$1.after"
	of_all "... and together as long as the kernel counts for the disk" '
		def sum(stage): rows(stage; .key.disk == $a and .key.op == "read" and .count >= 60) | map(.sum) | add;
		('"$(cat "$1.before" "$1.after" | awk '{ ms = $4 - ms } END { print ms }')"' * 1000000) as $ns
		| if sum("device") <= $ns * 1.01 + 1000000 and sum("whole") >= $ns * 0.95 - 1000000
			then true else error("\(sum("device")) in the device, \(sum("whole")) in all, the kernel: \($ns)") end' "$1"
}

check_fio() {
	if [ ! -e fio.json ]; then
		skip "what fio says" "there is no fio"
		return
	fi
	by_fio fio-1 2000000
	by_fio fio-32 2000000
	by_fio fio-throttled-1 16000000
	as_kernel fio-throttled-1
	by_fio fio-throttled-32 128000000
	as_kernel fio-throttled-32
}

check_outside() {
	if [ -e virtio.skip ]; then
		skip "disks that the machine throttles, fio" "$(cat virtio.skip)"
	else
		throttled_to 1 50 vda
		throttled_to 8 200 vdb
		check_fio
	fi
	if [ -e journal.skip ]; then
		skip "a journal" "$(cat journal.skip)"
		return
	fi
	evidence all.json journal.before journal.after
	read -r commits _ writes _ <<-END
		$(paste journal.before journal.after | awk '{ printf "%d ", $2 - $1 }')
	END
	of_all "each transaction of a journal ends with a write of its own thread, sync and fua" '
		calls(.key.disk == $a and .key.op == "write" and (.key.comm | startswith("jbd2/")) and (.key.flags | test("sync.*fua"))) == '"$commits"' and '"$commits"' >= 7' journal
	of_all "... and the kernel counts as many writes of the disk" \
		'calls(.key.disk == $a and .key.op == "write") == '"$writes" journal
}
