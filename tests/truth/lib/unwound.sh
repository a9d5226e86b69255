# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# Stacks of programs of other languages, of servers and of assembly, and of one beside perf: natively only, for what is
# not installed is not in the small systems either.

# What is compiled for the test waits until it is traced, for its tables are read meanwhile; and works for a time on
# the CPU, whoever else is there, so that there are as many samples.
gate() {
	cat >gate.h <<-'END'
	#include <fcntl.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <time.h>
	#include <unistd.h>
	static volatile long sink;
	static void wait_to_go(void)
	{
		char path[4096];

		snprintf(path, sizeof(path), "%s/ready", getenv("WORKLOAD_GATES"));
		close(open(path, O_CREAT | O_WRONLY, 0600));
		snprintf(path, sizeof(path), "%s/go", getenv("WORKLOAD_GATES"));
		while (access(path, F_OK))
			usleep(10000);
	}
	static double used(void)
	{
		struct timespec t;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		return t.tv_sec + t.tv_nsec / 1e9;
	}
	#define KNOWN __attribute__((noipa)) /* as it is written: not inlined, cloned or known to callers */
	KNOWN long spend(long n) { for (long i = 0; i < n; i++) sink = sink + i; return n; }
	END
}

# Much of its time is the exceptions': their library walks by the same tables.
of_cxx() {
	echo "no compiler of C++" >cxx.skip
	command -v g++ >/dev/null || return
	cat >cxx.cc <<-'END'
	extern "C" {
	#include "gate.h"
	KNOWN void innermost(int n) { spend(n); throw n; }
	KNOWN void third(int n) { innermost(n); sink = 1; }
	KNOWN void second(int n) { volatile char fill[200]; fill[n % 64] = 1; third(n + fill[n % 64]); sink = 1; }
	KNOWN void outer(int n) { try { second(n); } catch (int) { sink = 2; } sink = 3; }
	}
	int main()
	{
		wait_to_go();
		while (used() < 1)
			outer(1000);
	}
	END
	g++ -O2 -fomit-frame-pointer -o cxx cxx.cc 2>cxx.skip || return
	rm cxx.skip
	start cxx-work ./cxx
	attach cxx -F 499 -p "$pid" -b comm
	go cxx-work
	detach cxx
}

# The distribution's compiler, as in the Makefile: another may be a proxy that fetches one.
of_rust() {
	echo "no compiler of Rust" >rust.skip
	rustc=${RUSTC:-/usr/bin/rustc}
	command -v "$rustc" >/dev/null || return
	cat >rust.rs <<-'END'
	fn keep(n: u64) -> u64 { unsafe { std::ptr::read_volatile(&n) } }
	#[no_mangle]
	#[inline(never)]
	pub fn rust_leaf(n: u64) -> u64 { (0..n).fold(0, |s, i| keep(s ^ i)) }
	#[no_mangle]
	#[inline(never)]
	pub fn rust_middle(n: u64) -> u64 { rust_leaf(n) + 1 }
	#[no_mangle]
	#[inline(never)]
	pub fn rust_outer(n: u64) -> u64 { let all: Vec<u64> = (0..3).map(|i| rust_middle(n + i)).collect(); all[0] + all[2] }
	fn main() {
	    let gates = std::env::var("WORKLOAD_GATES").unwrap();
	    std::fs::write(format!("{}/ready", gates), "").unwrap();
	    while !std::path::Path::new(&format!("{}/go", gates)).exists() { std::thread::sleep(std::time::Duration::from_millis(10)) }
	    for _ in 0..40000 { keep(rust_outer(20000)); }
	}
	END
	"$rustc" -O -o rust rust.rs 2>rust.skip || return
	rm rust.skip
	start rust-work ./rust
	attach rust -F 499 -p "$pid" -b comm
	go rust-work
	detach rust
}

# openssl CIPHER [OPTION] - its assembly saves registers in its own way, and has tables written by hand
openssl_speed() {
	# shellcheck disable=SC2016 # the inner shell expands it
	traced "openssl-$1" -F 499 -b comm -- sh -c 'name=$1; shift; exec openssl speed -seconds 1 "$@" "$name" >openssl-$name.out 2>&1' sh "$@"
}

# shellcheck disable=SC2317 # await calls it
postgres_serves() {
	[ -e postgres.gates/serves ] || is_over "$pid"
}

# A server refuses to be root. Its files are in memory, where nobody else sees them, and go with it.
postgres() {
	echo "no server of PostgreSQL" >postgres.skip
	for bin in /usr/lib/postgresql/*/bin; do
		[ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] && [ -x "$bin/pgbench" ] && break
	done
	[ -x "$bin/pgbench" ] && command -v setpriv >/dev/null || return
	rm postgres.skip
	cat >postgres.script <<-'END'
	gates=$WORKLOAD_GATES
	: >"$gates/ready"
	mount -t tmpfs none /mnt && chmod 777 /mnt && cd /mnt || exit
	nobody="env -i PATH=$1:$PATH LC_ALL=C HOME=/mnt setpriv --reuid=65534 --regid=65534 --clear-groups"
	$nobody initdb -D data -A trust -U test --no-sync --locale=C --encoding=UTF8 || exit
	$nobody postgres -D data -k /mnt -c listen_addresses= -c fsync=off -c jit=off &
	server=$!
	trap 'kill -INT $server; wait $server' EXIT
	for _ in $(seq 300); do
		$nobody psql -h /mnt -U test -c '' postgres && break
		sleep 0.1
	done 2>/dev/null
	$nobody pgbench -h /mnt -U test -i -q -s 2 postgres || exit
	echo $server >"$gates/serves"
	until [ -e "$gates/go" ]; do sleep 0.02; done
	$nobody pgbench -h /mnt -U test -S -n -c 2 -j 1 -T 3 postgres
	END
	start postgres unshare -m sh postgres.script "$bin"
	await 90 postgres_serves
	if read -r server <postgres.gates/serves; then
		started="$started $server" # its children end when it does
		attach postgres-cpu -F 499 --follow -p "$server" -b comm
		program=offcpu-time attach postgres-off --follow -p "$server" -b comm
	fi
	go postgres
	[ ! -s postgres.gates/serves ] || detach postgres-cpu postgres-off
}

# Both sample the same process, each at moments of its own; perf keeps the stack's memory and walks it afterwards.
beside_perf() {
	echo "no perf, or no compiler" >perf.skip
	command -v perf >/dev/null && command -v gcc >/dev/null && command -v nm >/dev/null || return
	cat >mixed.c <<-'END'
	#include "gate.h"
	#include <alloca.h>
	KNOWN long descend(int depth) { long s = depth ? descend(depth - 1) : spend(4000); return s + sink % 3; }
	KNOWN int compare(const void *a, const void *b) { spend(200); return *(const int *)a - *(const int *)b; }
	KNOWN long sorts(int n)
	{
		int v[64];

		for (int i = 0; i < n; i++)
			v[i] = i * 7919 % 64;
		qsort(v, n, sizeof(*v), compare);
		return v[0];
	}
	KNOWN long varies(int n) { volatile char *fill = alloca(n); fill[n / 2] = 1; return spend(n) + fill[n / 2]; }
	KNOWN long aligns(int n) { _Alignas(64) volatile char fill[64]; fill[n % 64] = 1; return spend(n) + fill[n % 64]; }
	KNOWN long prints(int n)
	{
		char line[400];
		long s = 0;

		for (int i = 0; i < n; i++)
			s += snprintf(line, sizeof(line), "%.300f", 1.0 / (i + 3));
		return s;
	}
	KNOWN long pointed(int n) { return descend(n) + varies(2000) + sink % 3; }
	int main(void)
	{
		long (*volatile call)(int) = pointed;

		wait_to_go();
		while (used() < 2)
			sink = descend(5) + sorts(16) + varies(6000) + aligns(5000) + prints(3) + call(2);
		return 0;
	}
	END
	gcc -O2 -fomit-frame-pointer -o mixed mixed.c 2>perf.skip || return
	rm perf.skip
	nm mixed | awk '$2 ~ /[tT]/ && $3 !~ /^_/ { print $3 }' >mixed.functions
	start mixed ./mixed
	attach beside -F 499 -p "$pid" -b comm
	attached
	perf record -q -m 16M --call-graph dwarf,16384 -e cpu-clock -F 499 -p "$pid" -o perf.data >perf.log 2>perf.err &
	perf=$!
	started="$started $perf"
	await 20 [ -s perf.data ]
	go mixed
	detach beside
	finish perf "$perf"
	perf script -i perf.data --no-inline -F comm,ip,sym,dso >perf.out 2>>perf.err
	rm -f perf.data # it has the stacks' memory: 16 kB for each sample
}

unwound_programs() {
	case $(uname -r) in *cloud*) return ;; esac
	[ "$(uname -m)" = x86_64 ] || return 0 # others are walked by frame pointers
	: >unwound.programs
	gate
	of_cxx
	of_rust
	if command -v openssl >/dev/null; then
		openssl_speed chacha20-poly1305 -evp
		openssl_speed rsa2048
		also openssl_speed sha256 -evp
	fi
	postgres
	beside_perf
}

# reaches WHAT TOOL PERCENT - so many of its samples are whole, as the tool counts them; and as they are: they end in one frame
reaches() {
	evidence "$2.json" "$2.err" notes
	holds "$1: $3 % of user stacks reach the start of the program" "$2.json" '
		[$last.rows[] | {count, frames: [.stack[] | select(.kernel | not).frame]} | select(.frames | length > 0)] as $all
		| ($all | map(.count) | add) as $n
		| ($all | map(select(.frames[-1] | startswith("[") | not)) | group_by(.frames[-1]) | map(map(.count) | add) | max) as $most
		| $n >= 100 and 100 * $most >= $percent * $n
		and ($last.user_stacks | 100 * .whole >= $percent * ([.[]] | add))' --argjson percent "$3"
}

# below TOOL FUNCTION CALLER... - all but 3 % of samples in it, or in what it calls, have these callers, and the program's start
below() {
	below=$1 function=$2
	shift 2
	holds "... and $function() is below $*" "$below.json" '
		[$last.rows[] | {count, frames: [.stack[] | select(.kernel | not).frame | sub("[.]cold$"; "")]}
			| select(any(.frames[]; . == $function))] as $all
		| ($callers | split(" ")) as $c | ($all | map(.count) | add) as $n
		| ($all | map(select((.frames[.frames | index($function):][:$c | length] == $c) and .frames[-1] == "_start").count) | add) as $right
		| $n >= 100 and 100 * $right >= 97 * $n' --arg function "$function" --arg callers "$function $*"
}

check_perf() {
	# Of each of perf's samples in which main() is: names of the program's functions, and "-" for others, whose
	# names the two take from different tables.
	awk 'FNR == NR { ours[$1]; next }
		/^[^ \t]/ { chain = ""; whole = 0; next }
		NF && !whole && $1 !~ /^ffff/ { chain = chain (chain ? ";" : "") ($2 in ours && $NF ~ /\/mixed\)$/ ? $2 : "-"); whole = $2 == "main" }
		!NF && whole { n[chain]++; whole = 0 }
		END { for (chain in n) print n[chain], chain }' mixed.functions perf.out >perf.chains
	both='($perf | split("\n") | map(select(. != "") | split(" ") | {(.[1]): .[0] | tonumber}) | add) as $theirs
		| ($functions | split("\n") | map({(.): true}) | add) as $known
		| (reduce ($last.rows[] | {count, frames: [.stack[] | select(.kernel | not).frame | if $known[.] then . else "-" end]}
			| select(any(.frames[]; . == "main"))) as $row ({};
			($row.frames[:($row.frames | index("main")) + 1] | join(";")) as $chain | .[$chain] += $row.count)) as $ours
		| ($theirs | add) as $t | ($ours | add) as $o | '
	files='--rawfile perf perf.chains --rawfile functions mixed.functions'
	evidence beside.json beside.err perf.chains perf.err
	# Chances of two samplings: of 900 samples each, a share of 25 % differs by 2 points (one sigma), one of 5 % by 1.
	# shellcheck disable=SC2086 # words
	holds "chains of functions have the shares that perf finds, walking afterwards" beside.json "$both"'
		[$theirs | to_entries[] | select(.value >= 0.02 * $t)] as $often
		| $t >= 200 and $o >= 200 and ($often | length) >= 8
		and all($often[]; .value / $t - ($ours[.key] // 0) / $o | fabs <= 0.05)' $files
	# A wrong step would make chains that the other never sees; what is rare, as an instruction before a frame is made,
	# may by chance be in one of them only. So it is samples that are counted, not chains, and how deep a library's
	# innermost functions are, of which each is rare, does not matter.
	# shellcheck disable=SC2086 # words
	holds "... 99 % of perf's whole samples are of chains that cpu-profile has, and the other way round" beside.json "$both"'
		def chain: .key | sub("^-(;-)*"; "-");
		def found($there): ($there | to_entries | map({(chain): true}) | add) as $chains
			| map_values(numbers) | to_entries | (map(select($chains[chain]).value) | add) >= 0.99 * (map(.value) | add);
		$t >= 200 and $o >= 200 and ($theirs | found($ours)) and ($ours | found($theirs))' $files
}

check_unwound_programs() {
	[ -e unwound.programs ] || return 0
	if [ -e cxx.skip ]; then
		skip "C++ with exceptions" "$(cat cxx.skip)"
	else
		reaches "C++ with exceptions" cxx 97
		below cxx innermost third second outer main
		below cxx __cxa_throw innermost third second outer main
	fi
	if [ -e rust.skip ]; then
		skip "Rust" "$(cat rust.skip)"
	else
		reaches Rust rust 97
		below rust rust_leaf rust_middle rust_outer rust::main
	fi
	for cipher in chacha20-poly1305 rsa2048 sha256; do
		[ -e "openssl-$cipher.status" ] || continue
		# RSA takes two seconds, the first tenth of one of which is by frame pointers.
		case $cipher in rsa*) percent=85 ;; *) percent=95 ;; esac
		reaches "assembly of OpenSSL, $cipher" "openssl-$cipher" $percent
	done
	if [ -e postgres.skip ]; then
		skip "PostgreSQL" "$(cat postgres.skip)"
	else
		is "PostgreSQL serves pgbench" "$(cat postgres.status)" 0
		reaches "PostgreSQL, on the CPU" postgres-cpu 97
		reaches "PostgreSQL, off the CPU" postgres-off 97
	fi
	if [ -e perf.skip ]; then
		skip "perf's stacks of the same program" "$(cat perf.skip)"
	else
		reaches "a program beside perf" beside 97
		check_perf
	fi
}
