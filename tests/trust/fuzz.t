#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
#	fuzz.t [SECONDS]    for each target, from a seed of its own; default 3, from the same seed
#
# Whatever a file has in it, no reader of ours does what the sanitizers of clang take for a fault.
# What was found is left in build/fuzz/faults: "build/fuzz/TARGET FILE" shows it again.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
seconds=${1:-3}
first=$((! $#)) # 0: another one each time
[[ $seconds =~ ^[1-9][0-9]{0,6}$ ]] || {
	printf '%s: not a number of seconds: %s\n' "${0##*/}" "$seconds" >&2
	exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/said"

if ! ${CLANG:-clang} -x c -fsanitize=fuzzer,address,undefined -o "$work/try" - 2>"$work/said" <<-'END'
	int LLVMFuzzerTestOneInput(const unsigned char *data, long size);
	int LLVMFuzzerTestOneInput(const unsigned char *data, long size) { return data && size < 0; }
	END
then
	skip "files are fuzzed" "clang has no fuzzer here (Debian: libclang-rt-dev): $(head -n 1 "$work/said")"
	done_testing
fi
make -s build/fuzz/files build/fuzz/kallsyms build/fuzz/maps build/fuzz/reports build/fuzz/usdt-arguments >"$work/said" 2>&1
is "the fuzzers build" $? 0 || done_testing

# Small files with what is read: functions that are inlined and called, probes, types; a "kernel" of arm64
# whose two instructions, adrp and add, make an address below them.
cat >"$work/s.c" <<'END'
volatile int sink;
__attribute__((used)) void method(int x) __asm__("_ZN2ns1fIiEEvT_");
void method(int x) { sink = x; }
static inline __attribute__((always_inline)) int always(int x) { return x * 3 + sink; }
static __attribute__((noinline)) int never(int x) { sink -= x; return x + 7; }
static int small(int x) { sink ^= x; return x + sink; }
__attribute__((noinline)) int held(int x) { return x - sink; }
int (*pointers[])(int) = {held, held};
int a(int x) { return always(x) + never(x) + small(x) + held(x); }
int _start(int x);
int _start(int x)
{
	__asm__ volatile("1: nop\n .pushsection .note.stapsdt,\"?\",\"note\"\n .balign 4\n .4byte 3f-2f,5f-4f,3\n"
		"2: .asciz \"stapsdt\"\n3: .balign 4\n4: .8byte 1b, _.stapsdt.base, 0\n"
		".asciz \"provider\"\n .asciz \"probe\"\n .asciz \"-4@%%edi\"\n5: .balign 4\n .popsection\n"
		".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n .weak _.stapsdt.base\n"
		"_.stapsdt.base: .space 1\n .popsection" ::);
	return a(x) + pointers[x & 1](x) + small(x);
}
END
seed() {
	local name=$1
	shift
	gcc -nostdlib -Wl,-z,noseparate-code "$@" "$work/s.c" -o "$work/files/$name" 2>>"$work/said"
}
mkdir "$work/files" "$work/kallsyms"
: >"$work/said"
seed O0 -g -O0 && seed O2 -g -O2 && seed four -g -O2 -gdwarf-4 && seed packed -g -O2 -gz && seed lto -g -O2 -flto &&
	seed fixed -g -O2 -static -fno-pie -no-pie && seed lib.so -g -O2 -fPIC -shared && seed bare -O2 -s &&
	objcopy --only-keep-debug "$work/files/O2" "$work/files/debug" &&
	clang -target bpf -g -O2 -c -o "$work/types.o" -x c - <<<'struct s { int a, b; struct s *next; }; int a(struct s *s) { return s->a; }' &&
	objcopy -I elf64-little -O binary --only-section=.BTF --set-section-flags .BTF=alloc "$work/types.o" "$work/files/types" &&
	objcopy --add-section .BTF="$work/files/types" "$work/files/fixed" "$work/files/kernel" 2>>"$work/said" &&
	gcc -nostdlib -static -no-pie -Wl,-z,noseparate-code -x assembler -o "$work/files/arm64" - <<<'.globl _start; _start: .4byte 0xf0ffffe0, 0x91000000' &&
	printf 'V1 { *; }; V2 { held; } V1;\n' >"$work/versions" &&
	seed go.so -O2 -fPIC -shared -Wl,--version-script="$work/versions" &&
	printf '\377 Go buildinf:' >"$work/buildinfo" &&
	objcopy --add-section .go.buildinfo="$work/buildinfo" "$work/files/go.so" &&
	strip "$work/files/go.so" -o "$work/files/headless.so" &&
	python3 - "$work/files/headless.so" <<-'END' &&
		import struct, sys
		data = bytearray(open(sys.argv[1], 'rb').read())
		data[struct.unpack_from('<Q', data, 40)[0]:] = b''
		data[40:48] = bytes(8)
		data[60:64] = bytes(4)
		open(sys.argv[1], 'wb').write(data)
	END
	objcopy --only-keep-debug "$work/files/fixed" "$work/mini" && xz -qf "$work/mini" &&
	objcopy --strip-all --add-section .gnu_debugdata="$work/mini.xz" "$work/files/fixed" "$work/files/mini" &&
	printf '\267' | dd of="$work/files/arm64" bs=1 seek=18 conv=notrunc status=none &&
	gzip -c "$work/files/kernel" >"$work/files/kernel.gz" &&
	size=$(stat -c %s "$work/files/kernel.gz") &&
	{
		printf 'MZ\0\0zimg\100\0\0\0%b' "$(printf '\\x%02x\\x%02x' $((size & 255)) $((size >> 8)))"
		head -c 50 /dev/zero && cat "$work/files/kernel.gz"
	} >"$work/files/zboot"
is "the corpus is made" "$? $(find "$work/files" -type f -size +0 | wc -l)" "0 17"
# Offsets and bytes of any kind.
head -c 100 tests/fuzz/kallsyms.c >"$work/kallsyms/text"
mkdir -p "$work/usdt-arguments" "$work/maps"
cat /proc/self/maps >"$work/maps/own"
# A report is as long as its histograms; what is refused first is at its beginning.
mkdir -p "$work/values" "$work/reports"
tests/cli/reports.py make "$work/values" 6 4 10
for host in a b c; do
	for line in 1 7; do
		jq -c '.rows |= [limit(2; .[] | .hist |= .[:8] | .count = ([.hist[][2]] | add) | .errors = 0 | .max = .hist[-1][1])]' \
			<(sed -n "${line}p" "$work/values/$host.json") | tee -a "$work/reports/all" >"$work/reports/$host$line"
	done
done
echo "-4@%edi 8@16(%rsp,%rax,4) 8@\$42 8f@%xmm0" >"$work/usdt-arguments/x86"
echo "8@x0 -4@[sp, 12] 8@[x1, w2, sxtw 2]" >"$work/usdt-arguments/arm64"

mkdir -p build/fuzz/faults "$work/tmp"
export TMPDIR=$work/tmp
# fuzz TARGET OPTION...
fuzz() {
	local target=$1 runs status
	shift
	before=$(find build/fuzz/faults -type f | wc -l)
	build/fuzz/"$target" -seed="$first" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -close_fd_mask=2 \
		-artifact_prefix=build/fuzz/faults/"$target-" -print_final_stats=1 "$@" \
		"$work/$target" >"$work/said" 2>&1
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/said")
	sed -i '/^#[0-9]/d; /NEW_FUNC/d' "$work/said" # what is left ends with the fault
	is "$target: $seconds seconds find no fault" "$status $(find build/fuzz/faults -type f | wc -l)" "0 $before"
	claim "$target: ${runs:-0} inputs were tried" test "${runs:-0}" -gt $((seconds * 10))
}
fuzz kallsyms -max_len=64
fuzz maps -max_len=4096
fuzz usdt-arguments -max_len=200
fuzz reports -max_len=8192
fuzz files -max_len=32768
done_testing
