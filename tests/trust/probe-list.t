#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# probe-list, against what others read from the same kernel and the same files.

set -uo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$top/tests/lib.sh"
bin=${PLUMB_BIN:-$top/build/bin}
tests=${bin%/*}/tests
[[ -x $bin/probe-list ]] || { echo "Bail out! no $bin/probe-list: make"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
out=$work/out err=$work/err status=
evidence "$out" "$err"

run() {
	status=0
	timeout -k 5 60 "$bin/probe-list" "$@" </dev/null >"$out" 2>"$err" || status=$?
}

names() {
	awk '{ print $1 }' "$out"
}

# --- programs and libraries: all may read them ---

cat >program.c <<'END'
#define PROBE(name, arguments) \
	__asm__ volatile("9: nop\n" \
			 ".pushsection .note.stapsdt,\"\",%%note; .balign 4; .4byte 2f-1f, 4f-3f, 3\n" \
			 "1: .asciz \"stapsdt\"\n2: .balign 4\n3: .dc.a 9b, _.stapsdt.base, 0\n" \
			 ".asciz \"specimen\"; .asciz \"" name "\"; .asciz \"" arguments "\"\n" \
			 "4: .balign 4; .popsection" ::: "memory")
__asm__(".pushsection .stapsdt.base,\"a\"; _.stapsdt.base: .space 1; .popsection");
__attribute__((noinline)) static int hidden(int x) { PROBE("twice", "-4@%%edi"); return x + 1; }
int visible(int x) { PROBE("once", ""); PROBE("twice", "-4@%%esi"); return hidden(x) * 2; }
int main(int argc, char **argv) { (void)argv; PROBE("all", "1@%%al -1@%%al 2@%%ax -2@%%ax 4@4(%%rsp) -4@$-7 8@%%rdi -8@%%rsi 4f@%%xmm0 8f@%%xmm1 16@%%xmm2 @x"); return visible(argc) == 0; }
END
claim "a specimen is compiled" "${CC:-cc}" -O1 -o program program.c || done_testing
run "u:./program:*"
is "functions of a program are listed" "$status" 0
is "they are those that nm has" "$(names | sed 's/.*://' | sort)" \
	"$(nm program | awk '$2 ~ /^[tTW]$/ { print $3 }' | grep -vx -e '.*\..*' -e __x86.* | sort |
		while read -r f; do readelf -sW program | grep -qE " FUNC .* $f\$" && echo "$f"; done)"
run "u:./program:*ibl*"
is "a glob selects among them" "$(tr -s " " <"$out")" "u:./program:visible unstable uprobe"
run "usdt:./program:*:*"
cp "$out" probes
is "USDT probes are those that readelf has, and as often" \
	"$(awk '{ n = $4 ? substr($4, 2) : 1; while (n--) print $1 }' probes | sed 's/.*program://' | sort)" \
	"$(readelf -n program | awk '/Provider:/ { p = $2 } /Name:/ { print p ":" $2 }' | sort)"
is "a probe of two places says so" "$(awk '$1 ~ /twice/ { print $2, $3, $4 }' probes)" "stable-ish uprobe x2"
run -j "usdt:./program:specimen:twice"
is "JSON has each place's arguments" "$(jq -r '.targets[].places | map(.arguments) | sort | join(" ")' "$out")" "-4@%edi -4@%esi"
run -a "usdt:./program:specimen:twice"
like "so has the text" "$(<"$out")" 'twice\(int32\): -4@%e[sd]i, -4@%e[sd]i'
run -j "usdt:./program:specimen:*"
is "JSON has the types" "$(jq -c '.targets[] | select(.name | endswith("all")) | .places[].types' "$out")" \
	'["uint8","int8","uint16","int16","uint32","int32","uint64","int64","float32","float64",null,null]'
is "a probe without arguments has none" "$(jq -c '.targets[] | select(.name | endswith("once")) | .places[].types' "$out")" '[]'
run -a "usdt:./program:specimen:*"
like "so has the text" "$(tr -s ' \n' ' ' <"$out")" 'all\(uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64, \?, \?\): 1@%al'
like "and says that there are no arguments" "$(<"$out")" 'once\(\): no arguments'
run -j "usdt:$tests/usdt:app:begin"
is "at each place they are those of the program's source: int, long, int, char" \
	"$(jq -c '[.targets[].places[].types] | unique' "$out")" '[["int32","int64","int32","int8"]]'
printf 'u:./program:%s\n' visible hidden >wanted
run u:./program:visible u:./program:hidden u:./program:visible
is "several GLOBs, each target once" "$(names | sort)" "$(sort wanted)"

# consistent GLOB - what is listed of it is there for probe-check as well
consistent() {
	run "$1"
	names >listed
	claim "$1 has some" test -s listed
	is "each of $1 is a target that is there" "$(xargs -n 250 "$bin/probe-check" -j <listed 2>"$err" |
		jq -r '.checks[] | select(.verdict != "gone" and (.verdict != "unknown" or (.why | test("^uprobes take it")))).target' |
		sort)" "$(sort listed)"
}
consistent "u:libc:mem*"

# --- wrong, and not there ---

# misused ARG WORD
misused() {
	run "$1"
	is "$1 is wrong usage" "$status $(wc -l <"$err") $(wc -c <"$out")" "2 1 0"
	like "$1: it says how it should be" "$(<"$err")" "$2"
}
for wrong in u: u:x u::x u:x:; do
	misused "$wrong" "u:FILE:GLOB"
done
for wrong in usdt: usdt:x usdt:x:y usdt:x:y: usdt::y:z; do
	misused "$wrong" "usdt:FILE:PROVIDER:NAME"
done

# nothing GLOB WORDS
nothing() {
	run "$1"
	is "${1:0:40} matches nothing: status 1, no output" "$status $(wc -c <"$out")" "1 0"
	like "${1:0:40}: it is said" "$(grep -v 'is not known\|are hidden\|(tracefs): not readable' "$err")" "$2"
}
nothing u:./program:visable "no function visable in ./program; did you mean visible"
nothing usdt:./program:specimen:twise "no USDT probe specimen:twise in ./program; did you mean twice"
nothing u:./missing:x "./missing"
nothing k:no_such_function_here "no target matches k:no_such_function_here"
nothing vfs_raed "no target matches vfs_raed; did you mean .*vfs_read"
nothing '' "no target matches"
nothing 'no_such_*' "no target matches no_such_\*$"
nothing "$(printf 'x%.0s' {1..100000})" "no target matches xxxx"
run $'k:\e[31m\nx'
is "what is shown of a GLOB has no control characters" "$(tail -n 1 "$err")" 'probe-list: no target matches k:\x1b[31m\x0ax'
run k:vfs_read k:no_such_function_here
is "one GLOB of two matches nothing: that is said, the other is listed" "$status $(names)" "1 k:vfs_read"

# --- types ---

run -a k:vfs_read
is "a prototype is that of the sources" "$(sed -n 's/^ *ssize_t/ssize_t/p' "$out")" \
	"ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)"
run -j k:tcp_sendmsg
is "so it is in JSON" "$(jq -c '.targets[] | [.returns, (.arguments[] | .type, .name)]' "$out")" \
	'["int","struct sock *","sk","struct msghdr *","msg","size_t","size"]'
run -a r:sched_switch
like "arguments of a raw tracepoint have names and types" "$(tr -s '\n ' ' ' <"$out")" \
	'sched_switch\((bool preempt, )?struct task_struct \*prev, struct task_struct \*next'

# --- all of the kernel ---

((EUID == 0)) || { skip "targets in the kernel" "tracefs is for root"; done_testing; }

consistent "s:*"
consistent "t:*"
run -a s:openat t:sched:sched_switch
like "a call has its arguments and what it returns" "$(<"$out")" \
	'long openat\(int dfd, const char \* filename, int flags, umode_t mode\)'
like "a tracepoint has its fields" "$(tr -s '\n ' ' ' <"$out")" \
	'sched_switch\(char prev_comm\[16\], pid_t prev_pid, int prev_prio, long prev_state, '
run t:syscalls:sys_enter_newfstat
is "a call is found by its event" "$(names)" s:fstat

start=$(date +%s%N)
run
took=$((($(date +%s%N) - start) / 1000000))
is "all is listed" "$status" 0
# A second and a half where nothing else runs; a list that is searched once for each line takes minutes.
claim "all is listed in seconds, on a busy machine too ($took ms)" test "$took" -lt 20000
cp "$out" lines
names >all
is "no target is listed twice" "$(sort all | uniq -d | head -n 3)" ""
is "a line has a name, a stability, hooks" "$(awk 'NF != 3 && !(NF == 4 && $4 ~ /^x[0-9]+$/)' lines | head -n 3)" ""
is "lines are no wider than a terminal, but for long names" "$(awk 'length > 80 && length($1) <= 46' lines | head -n 3)" ""
is "stability is that of the kind" "$(awk '{ sub(":.*", "", $1); print $1, $2 }' lines | sort -u | paste -sd ,)" \
	"k unstable,r stable-ish,s stable,t stable-ish"

# matching REGEX GLOB... - are they those of the whole list?
matching() {
	run "${@:2}"
	is "${*:2} lists what it should" "$status $(names)" "0 $(grep -E "$1" all)"
	claim "${*:2} lists something" test -s "$out"
}
matching '^t:sched:' 't:sched:*'
matching '^t:sched:' 't:sch?d:*' t:sched:sched_switch
matching '^k:([^:]*:)?tcp_sendm[^:]*$' 'k:tcp_sendm*'
matching '^(t:sched:|r:)sched_switch$' sched_switch
matching '^(t:sched:|r:)sched_switch$' '[tr]:*sched_switch'
matching '^(t:sched:|r:)sched_switch$' sched:sched_switch r:sched_switch
matching '^k:vfs_read$' k:vmlinux:vfs_read
matching '^(s:openat|k:.*_sys_openat)$' s:openat 'k:*_sys_openat'
changed=$(grep -m 1 -E '^k:[a-z_]+\.(isra|constprop|part)\.0$' all)
run "${changed%%.*}"
like "a function is found by the name of its source" "$(names)" "${changed//./\\.}"

run -j
cp "$out" all.json
is "JSON has the same targets" "$(jq -r '.targets[].name' all.json | cmp - all 2>&1)" ""
holds "JSON begins as all of plumb's does" all.json \
	'$last.schema == "plumb/2" and $last.tool == "probe-list" and $last.kernel != "" and $last.arch != ""'
holds "a target is open where one of its hooks is" all.json \
	'($last.kinds | map(select(.open).hook)) as $open
	| all($last.targets[]; .open == any(.hooks[]; IN($open[])))'
run --summary -j
is "the summary is that of the list" "$(jq -c '[.kinds[] | select(.targets)]' "$out")" "$(jq -c .kinds all.json)"
holds "it has no targets" "$out" '$last | has("targets") | not'
holds "it counts what the list has" all.json '
	($last.targets | map(.count as $n | .kind as $f | .hooks[] | {key: "\($f) \(.)", value: $n})
		| group_by(.key) | map({key: .[0].key, value: map(.value) | add}) | from_entries) as $counted
	| all($last.kinds[]; .targets == $counted["\(.kind) \(.hook)"])'
run --summary
is "its rows fit a terminal" "$(awk 'length > 80' "$out")" ""
is "what is closed is said why" "$(grep -cE 'closed: [A-Z0-9]+,' "$out")" "$(jq '[.kinds[] | select(.open | not)] | length' all.json)"

# What is in parentheses is closed.
closed=$(jq -r '.kinds[] | select(.open | not).hook' all.json | sort -u)
is "closed hooks are in parentheses, others are not" \
	"$(awk '{ print $3 }' lines | tr , '\n' | sort -u | sed -n 's/[()]//gp' | grep -vxF -e "${closed:-none}")" ""
is "and said on standard error, once each" "$("$bin/probe-list" 2>&1 >/dev/null | sed -nE 's/^probe-list: ([a-z_.]+) refused: .*/\1/p' | sort)" "$closed"

# Functions that BTF describes, as bpftool reads it: each name once.
PATH=$PATH:/usr/sbin bpftool btf dump file /sys/kernel/btf/vmlinux | sed -nE "s/^\[[0-9]+\] FUNC '([^']+)'.*/\1/p" | sort | uniq -u >described
awk '/[( ]fentry/ && $1 !~ /:.*:/ { sub("k:", "", $1); sub("[.].*", "", $1); print $1 }' lines | sort -u >fentry
claim "there are many that can have fentry" test "$(wc -l <fentry)" -gt 10000
is "each of those is described by BTF" "$(comm -13 described fentry | head -n 3)" ""
if jq -e '[.kinds[] | select(.hook == "kprobe")][0].targets < 30000' all.json >/dev/null; then
	skip "each function that BTF describes is listed" "a small kernel"
else
	# But for what ftrace does not know, if the kernel tells.
	claim "nearly each function that BTF describes can have it" \
		test "$(comm -12 described fentry | wc -l)" -gt $(($(wc -l <described) * 6 / 10))
fi

# Each fortieth of the raw tracepoints, as the kernel itself takes it: letting go takes it a while.
grep ^r: all | awk 'NR % 40 == 0' >some
claim "there are raw tracepoints to try" test "$(wc -l <some)" -ge 10
if [[ $closed != *raw_tracepoint* ]]; then
	is "raw tracepoints can be attached to" "$("$tests/attaches" <some)" "$(sed 's/$/ 0/' some)"
fi

# --- ends ---

"$bin/probe-list" 2>/dev/null | head -n 1 >"$out"
is "a reader that goes away is a good end" "${PIPESTATUS[*]}" "0 0"
"$bin/probe-list" -j 2>"$err" | head -c 100 >"$out"
is "also of JSON" "${PIPESTATUS[0]} $(grep -c "standard output" "$err")" "0 0"
for option in k:vfs_read --summary -j; do
	"$bin/probe-list" "$option" >/dev/full 2>"$err"
	is "$option on a full disk exits 1" "$? $(tail -n 1 "$err")" "1 probe-list: cannot write to standard output: No space left on device"
done

cp "$bin/probe-list" . && chmod 755 . probe-list
setpriv --reuid=65534 --regid=65534 --clear-groups ./probe-list --summary >"$out" 2>"$err"
is "who is not root sees what there is to see" "$?" 0
like "and is told that nothing is open to him" "$(<"$out")" "fentry +closed: EPERM, without"
like "also that tracepoints are not shown" "$(<"$out")" "tracepoint +- +stable-ish +tracepoint +closed"
like "nor addresses" "$(<"$err")" "addresses are hidden"
done_testing
