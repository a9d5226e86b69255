#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the build promises: nothing is made twice, a changed header is, tools are
# small and stand alone, install goes where it is told, a new tool needs no line.

set -uo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
cd "$top" || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A copy with what check.sh has built, so that nothing here disturbs other tests.
mkdir "$work/tree"
tar -c --exclude=./build/{arm64,clang,dynamic,fuzz,go,package,unit,tests} --exclude=./.git . | tar -x -C "$work/tree"
cd "$work/tree" || exit 1
export WERROR=1
make >"$work/first" 2>&1
is "builds" $? 0 || cat "$work/first"

made() { make "$@" 2>&1 | awk '/^  [A-Z]/ { print $2 }' | sort; }

is "a second make does nothing" "$(made)" ""

# FILE TARGET...: what of the targets is made again when the file is newer. (All that needs it takes a minute.)
made_anew() {
	cp -p "$1" "$work/kept"
	touch "$1"
	made "${@:2}"
	touch -r "$work/kept" "$1"
}

rebuilt=$(made_anew include/plumb/bpf/hist/hist.h build/bpf/syscall-{latency,count}.bpf.o build/bin/syscall-latency)
like "a touched shared header rebuilds the BPF object that includes it" "$rebuilt" 'build/bpf/syscall-latency.bpf.o'
like "and the loader's objects that include it" "$rebuilt" 'build/lib/core/percentile.o'
is "and not those that do not" "$(grep -c 'build/lib/kernel/cgroup.o' <<<"$rebuilt")" 0
is "nor a BPF object that does not" "$(grep -c 'build/bpf/syscall-count.bpf.o' <<<"$rebuilt")" 0
like "and the tool is linked anew" "$rebuilt" 'build/bin/syscall-latency'

is "a touched shared page rebuilds the manual page only" \
	"$(made_anew tools/lib/manual/options.rst build/bin/syscall-latency build/man/syscall-latency.8 2>&1)" "build/man/syscall-latency.8"

# 5.10 has no other atomic instruction, and refuses a program that holds one that never runs.
# The loaders of file-io-breakdown and request-latency replace theirs there. lock-latency needs 5.19, futex-latency 5.12.
is "programs for all kernels have no atomic instruction but additions that fetch nothing" "$(
	for object in build/bpf/*.bpf.o; do
		[[ $object == *-session-* || $object == */file-io-breakdown.bpf.o || $object == */lock-latency*.bpf.o ||
			$object == */futex-latency.bpf.o || $object == */request-latency.bpf.o ]] || llvm-objdump -d --no-show-raw-insn "$object" |
			grep -E 'lock \*|atomic|xchg' | grep -v ' += ' | sed "s|^|$object|"
	done)" ""

for tool in build/bin/*; do
	name=${tool##*/}
	# Those that time functions hold programs for each form of sessions besides.
	limit=2160000
	compgen -G "build/gen/$name*-session-700.skel.h" >/dev/null && limit=2400000
	[[ -f build/gen/$name-go.skel.h ]] && limit=2330000 # those for Go's functions, too
	# Those that have copies of programs; and that read the kernel's memory in two ways.
	grep -rqs PROGRAM_COPIES --include='*.[ch]' "tools/$name" && limit=2270000
	grep -rqs bpf_rdonly_cast --include='*.h' "tools/$name" && limit=2430000
	# Those that read debugging information, packed kernels or all kinds of symbols hold libraries for that.
	grep -rqE '(plumb/(symbols|stacks|bpf/stack)/(symbols|stacks)|"image/image)\.h' --include='*.[ch]' "tools/$name" && limit=2470000
	# Those that tell who had I/O on the disks that threads waited for.
	grep -rqs 'plumb/bpf/block/disks' --include='*.[ch]' "tools/$name" && limit=$((limit + 110000))
	# Those that walk user stacks by unwind tables, in programs of several kinds.
	[[ $name != @(lock-latency|skb-alloc|syscall-slower|syscall-breakdown|file-io-breakdown) ]] || limit=2630000
	# Those that look for waits on the way out in the programs for each form of sessions.
	[[ $name != tcp-sendmsg-lat ]] || limit=2400000
	# Those that decode instructions hold a disassembler, by the names of these, and look for inlined calls.
	! grep -qa vpunpckhqdq "$tool" || limit=$((limit + 640000))
	((limit < 3000000)) || limit=3000000
	claim "$name is at most $((limit / 1000)) kB" test "$(stat -c %s "$tool")" -le "$limit"
	like "$name is static" "$(file -L "$tool" 2>/dev/null || ldd "$tool" 2>&1)" 'statically linked|not a dynamic'
	is "$name has no symbols" "$(nm "$tool" 2>/dev/null | wc -l)" 0
	is "$name does not know where it was built" "$(grep -c -e "$top" -e "$work" "$tool")" 0
done

# It prints what decoding from each byte gives, of all that the tools use.
make build/trust/decode >"$work/decode.log" 2>&1
gcc -O2 -w tests/trust/decode.c -lcapstone -o "$work/decode"
dd if="$(ldd "$work/decode" | awk '/libc[.]so/ { print $3 }')" of="$work/code" bs=1k skip=200 count=300 2>"$work/dd"
head -c 300k /dev/urandom >>"$work/code"
is "capstone decodes by its packed tables as by its own" "$(build/trust/decode "$work/code")" "$("$work/decode" "$work/code")"

make V=1 -B build/lib/kernel/cgroup.o >"$work/verbose" 2>&1
like "V=1 shows the commands" "$(cat "$work/verbose")" '-c tools/lib/kernel/cgroup.c'

make install DESTDIR="$work/root" prefix=/usr >"$work/install" 2>&1
is "installs" $? 0
is "each tool, with its page and its completion of bash and fish" \
	"$(cd "$work/root" && find . -type f -o -type l | sort | grep -c syscall-latency)" 4
like "and of zsh" "$(head -n 1 "$work/root/usr/share/zsh/site-functions/_plumb-tools")" '^#compdef .*syscall-latency'
is "the schema of JSON" "$(cmp build/plumb-2.schema.json "$work/root/usr/share/plumb/plumb-2.schema.json" 2>&1)" ""
is "the examples and the file for programs" "$(for doc in build/doc/*; do cmp "$doc" "$work/root/usr/share/doc/plumb-tools/${doc##*/}" 2>&1; done)" ""
make install DESTDIR="$work/other" sbindir=/s mandir=/m >/dev/null 2>&1
claim "where sbindir and mandir say" test -x "$work/other/s/syscall-count" -a -f "$work/other/m/man8/syscall-count.8"

make B="$work/btf" VMLINUX_BTF=/sys/kernel/btf/vmlinux "$work/btf/vmlinux.h" >/dev/null 2>&1
like "VMLINUX_BTF= names the kernel whose types are taken" "$(grep -m1 'struct task_struct {' "$work/btf/vmlinux.h")" task_struct
echo '/* packaged */' >"$work/vmlinux.h"
make B="$work/packaged" VMLINUX_PACKAGED="$work/vmlinux.h" "$work/packaged/vmlinux.h" >/dev/null 2>&1
is "else a packaged header is" "$(cat "$work/packaged/vmlinux.h")" '/* packaged */'

# Elsewhere, and otherwise linked: all is compiled once more.
elsewhere() {
	mkdir "$work/a directory"
	tar -c --exclude=./build --exclude=./.git . | tar -x -C "$work/a directory"
	make -C "$work/a directory" B="$work/elsewhere" "$work/elsewhere/bin/syscall-count" >"$work/apart" 2>&1
	claim "a tree with a space in its name, built elsewhere, makes the same bytes" \
		cmp build/bin/syscall-count "$work/elsewhere/bin/syscall-count"
	claim "a fuzzer's object is made from nothing" make B="$work/elsewhere" "$work/elsewhere/fuzz/lib/stacks/flame.o"
	make B="$work/elsewhere" STATIC=-static-pie "$work/elsewhere/bin/syscall-count" >"$work/pie" 2>&1
	like "STATIC=-static-pie makes a tool that runs at any address" \
		"$(readelf -h "$work/elsewhere/bin/syscall-count") $("$work/elsewhere/bin/syscall-count" --version)" 'Type: +DYN .*syscall-count \(plumb\)'
}
[[ -z ${CHECK_ALL-} ]] || elsewhere
make B="a directory" all >"$work/spaces" 2>&1
like "B with a space in it is refused" "$? $(<"$work/spaces")" '^2 .*make takes no path with a space in it'

# A tool without parts, and where there is a policy, which the part guard would obey.
make PARTS= build/bin/syscall-count >"$work/bare.log" 2>&1 && mv build/bin/syscall-count "$work/bare"
like "a tool without parts is built, and has none of their options" "$("$work/bare" --help | grep -cE -- '--(keep|chart|audit|until)')" '^0$'
if ((EUID == 0)) && [[ ! -e /etc/plumb ]]; then
	"$work/bare" --no-calibrate -j -- sleep 0.05 >"$work/bare.json" 2>/dev/null
	holds "it counts" "$work/bare.json" '$last.ledger.recorded > 0'
	mkdir "$work/own"
	# shellcheck disable=SC2016 # for the other shell
	like "it refuses to run where there is a policy" "$(unshare --mount --propagation private sh -c 'mount -t tmpfs none "$1" &&
		mkdir "$1/etc" "$1/etc-work" && mount -t overlay -o "lowerdir=/etc,upperdir=$1/etc,workdir=$1/etc-work" none /etc &&
		mkdir /etc/plumb && : >/etc/plumb/policy && "$2" --no-calibrate -d 0.1; echo $?' - "$work/own" "$work/bare" 2>&1)" \
		'/etc/plumb/policy: this tool was built without what obeys it.1$'
fi
scripts/new-tool.sh try-out >/dev/null
make >"$work/new" 2>&1 # and what has all parts again
is "a new tool builds without a line elsewhere" "$?" 0 || cat "$work/new"
# One that it accepts of each option that takes a value.
declare -A given=([after]=1s [audit]=$work/audit [btf]=/sys/kernel/btf/vmlinux [by]=comm [cgroup]=/ [comm]=x [cool-down]=1s
	[columns]=calls [duration]=1 [keep]=1m/1s [max-dumps]=2 [max-keys]=10 [mechanism]=raw_tracepoint [min-count]=1 [openmetrics]=$work/x.prom
	[otlp]=$work/x.otlp [out]=$work/x.json [percentiles]=50 [pid]=1 [precision]=5 [sort]=calls [start-at]=+1s [strict]=1
	[syscall]=getppid [tid]=1 [top]=1 [trigger]='count>1' [trigger-key]=comm=x [unit]=us [until]=+1s)
# What is only for another option.
declare -A with=([after]='--keep=1m --trigger=count>1' [cool-down]='--keep=1m --trigger=count>1' [exit-on-dump]=--keep=1m
	[follow]=-p1 [max-dumps]="--keep=1m --out=$work/x.json" [out]=--keep=1m [trigger]=--keep=1m
	[trigger-key]='-b comm --keep=1m --trigger=count>1')
wrong=""
while read -r option value; do
	[[ $option != le ]] || continue # is refused: this one has no histograms
	# shellcheck disable=SC2086 # words
	build/bin/try-out --check-arguments ${with[$option]-} "--$option${value:+=${given[$option]-}}" >"$work/option" 2>&1 ||
		wrong+="--$option: $(head -n 1 "$work/option")"$'\n'
done < <(build/bin/try-out --help | sed -nE 's/^ +(-., )?--([a-z-]+)(\[?=?[^ ]*).*/\2 \3/p')
is "a new tool takes each common option" "$wrong" ""
if ((EUID == 0)); then
	build/bin/try-out --no-calibrate -p $$ -d 5 2>"$work/new.err" >/dev/null &
	until grep -q tracing "$work/new.err" || ! kill -0 $!; do sleep 0.1; done
	links=$(grep -l link_type /proc/$!/fdinfo/* | xargs cat | grep '^prog_id')
	kill $!
	wait $!
	like "its programs are attached" "$(wc -l <<<"$links")" '^[2-9]$'
	is "and each of them once" "$(sort <<<"$links" | uniq -d)" ""
	printf '\x9f\xeb\x01\0\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0' >"$work/none.btf"
	build/bin/try-out --no-calibrate -d 0.1 --btf "$work/none.btf" >"$work/none" 2>&1
	is "and are of the types of --btf, which here has none" "$?" 77
	build/bin/try-out --no-calibrate -j -- sleep 0.05 >"$work/new.json" 2>/dev/null
	holds "and counts" "$work/new.json" '$last.tool == "try-out" and $last.ledger.recorded > 0'
	if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
		claim "its JSON is as the schema that is made of its file, too, says" \
			tests/truth/schema build/plumb-2.schema.json "$work/new.json"
	else
		skip "its JSON is as the schema says" "there is no jsonschema for Python"
	fi
fi
done_testing
