#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The unwind tables of files, as programs search them, beside what readelf (binutils) makes of .eh_frame, at the beginning of
# each of its rows.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[[ $(uname -m) == x86_64 ]] || { echo "1..0 # SKIP the tables are those of x86_64"; exit 0; }

# "ADDRESS HOW OFFSET FRAME-POINTER" of readelf's rows; expressions are "exp".
readelf_rows() {
	readelf --debug-dump=frames-interp "$1" 2>/dev/null | awk '
		/^ +LOC +CFA/ { delete column; for (i = 1; i <= NF; i++) column[$i] = i; next }
		/ FDE / { fde = 1; next }
		/ CIE / { fde = 0; next }
		!fde || !/^[0-9a-f]+ +(r|v?exp)/ { next }
		{
			sub(/^0+/, "", $1)
			bp = "rbp" in column ? $column["rbp"] : "u"
			ra = $column["ra"]
			if (/\(r/) bp = "exp" # a register that is in another one, which readelf writes as two words
			if (ra == "rdi" && $2 ~ /^rsp/) print $1, "rdi" substr($2, 4), bp
			else print $1, ra == "u" ? "end" : $2 ~ /^r[a-z0-9]+[+-]/ && ra == "c-8" || /exp/ ? $2 : "other", bp
		}'
}

# agrees FILE LEAST TABLE - at each address at which readelf has a row, in TABLE, ours says the same, in at least so many; how
# many did, and how many have expressions
agrees() {
	local name=${1##*/}
	build/trust/unwind-rows "$1" >"$work/ours"
	readelf_rows "${3:-$1}" >"$work/theirs"
	# Both by address; ours before theirs.
	{ sed 's/^/o /' "$work/ours"; sed 's/^/t /' "$work/theirs"; } | awk '{ printf "%16s %s\n", $2, $0 }' | sort -s -k1,1 |
		awk -v name="$name" '
		$2 == "o" { how = $4; bp = $5; next }
		{
			theirs = $4
			if (theirs ~ /exp/ || $5 ~ /exp/) { expressions++; next }
			wanted = theirs == "end" || theirs == "other" ? theirs "+0" : theirs
			there = $5 == "u" || $5 == "s" ? 0 : substr($5, 2) + 0
			if (how == wanted && (wanted != theirs || bp == there)) same++
			else { other++; if (other < 9) print "# " name ": " $0 " is " how, bp }
		}
		END { print same + 0, other + 0, expressions + 0 }' >"$work/result"
	read -r same other expressions < <(tail -1 "$work/result")
	claim "$name: rows are as readelf has them ($same same, $other not, $expressions expressions)" \
		test "$same" -ge "${2:-1000}" -a "$other" -eq 0 -a "$expressions" -lt "$((same / 50 + 2))" || cat "$work/result" >&2
}

libc=$(ldd /bin/sort | awk '/libc\.so/ { print $3 }')
agrees "$libc"
agrees /usr/bin/sort
# Linked statically, it has no .eh_frame_hdr.
agrees build/tests/busy
agrees "$(readlink -f "$(g++ -print-file-name=libstdc++.so 2>/dev/null || echo /usr/bin/bash)")"

# Functions that have their table only beside debugging information, compressed or not, and one that has it in both.
cat >"$work/only.c" <<-'END'
	#include <stdio.h>
	int leaf(int n) { volatile int all[64]; all[n & 63] = n; return all[n & 31]; }
	int sum(int n) { int s = 0; for (int i = 0; i < n; i++) { s += leaf(i); printf("%d", s); } return s; }
	int main(int argc, char **argv) { return sum(argc) + leaf(argc); }
END
# has_rows FILE - of its functions, as nm has them
has_rows() {
	for name in leaf sum main; do
		claim "... with a row of $name" awk -v address="$(nm "$1" | awk -v name=$name '$3 == name { print $1 }')" '
			{ while (length($1) < 16) $1 = "0" $1 } $1 == address && $2 == "rsp+8" { found = 1 } END { exit !found }' "$work/ours"
	done
}
only=(gcc -g -O2 -fno-asynchronous-unwind-tables -fno-inline -o)
for form in none zlib; do
	"${only[@]}" "$work/only-$form" -gz=$form "$work/only.c"
	agrees "$work/only-$form" 10
	has_rows "$work/only-$form"
done
# As older compilers compressed them, and in a file of its own.
objcopy --compress-debug-sections=zlib-gnu "$work/only-none" "$work/only-gnu"
like "the older form of compression" "$(readelf -SW "$work/only-gnu")" '\.zdebug_frame'
agrees "$work/only-gnu" 10
has_rows "$work/only-gnu"
for form in none zlib gnu; do
	objcopy --only-keep-debug "$work/only-$form" "$work/$form.debug"
	objcopy -S --add-gnu-debuglink="$work/$form.debug" "$work/only-$form" "$work/apart-$form"
	agrees "$work/apart-$form" 10 "$work/$form.debug"
	has_rows "$work/only-$form"
done
# Prelinked since the debug file was made: linked to another address, with the same build id.
"${only[@]}" "$work/there" -Wl,--build-id=0x5eed -static -no-pie -Wl,-Ttext-segment=0x500000 "$work/only.c"
"${only[@]}" "$work/here" -Wl,--build-id=0x5eed -static -no-pie -Wl,-Ttext-segment=0x700000 "$work/only.c"
objcopy --only-keep-debug "$work/there" "$work/there.debug"
objcopy -S --add-gnu-debuglink="$work/there.debug" "$work/here" "$work/moved"
build/trust/unwind-rows "$work/moved" >"$work/ours"
has_rows "$work/here"

# Of arm64, Go's own table in a stripped program, beside the .debug_frame of the same that is not stripped.
# shellcheck source=../truth/lib/go.sh
. tests/truth/lib/go.sh
if go_chain . arm64 "$work/go" 2>"$work/no-go" && go_chain . arm64 "$work/go-whole" "" 2>"$work/no-go"; then
	build/trust/unwind-rows "$work/go" | sed 's/^/o /' >"$work/ours"
	readelf --debug-dump=frames-interp "$work/go-whole" 2>/dev/null |
		sed -n 's/^0*\([0-9a-f]\{1,\}\) sp\(+[0-9]*\) *\([a-z0-9-]*\) .*/t \1 \2 \3/p' >"$work/theirs"
	read -r same other < <(awk '{ printf "%16s %s\n", $2, $0 }' "$work/ours" "$work/theirs" | sort -s -k1,1 | awk '
		$2 == "o" { how = $4; next }
		how ~ /^(end|other|none|$)/ { next } # where the runtime changes stacks
		how == ($5 ~ /^c-/ ? "sp" : "rsp") $4 { same++; next }
		{ other++ }
		END { print same + 0, other + 0 }')
	claim "Go, arm64: rows are as readelf has them ($same same, $other not)" test "$same" -ge 1000 -a "$other" -eq 0
else
	skip "Go, arm64: rows are as readelf has them" "$(head -1 "$work/no-go")"
fi

# What is damaged has no table, or a part of it, and ends nobody: each tenth byte of the first kilobytes of the table.
cp /usr/bin/sort "$work/damaged"
offset=$(readelf -SW "$work/damaged" | sed -n "s/.* \.eh_frame  *PROGBITS  *[0-9a-f]*  *\([0-9a-f]*\)  *\([0-9a-f]*\).*/\1 \2/p")
size=$((16#${offset#* })) offset=$((16#${offset% *}))
failed=0
for ((i = 0; i < 200; i++)); do
	printf '\xff' | dd of="$work/damaged" bs=1 seek=$((offset + i * size / 200)) conv=notrunc 2>/dev/null
	timeout 5 build/trust/unwind-rows "$work/damaged" >/dev/null || failed=$((failed + 1))
done
is "200 damaged tables are read in time" "$failed" 0
truncate -s $((offset + size / 2)) "$work/damaged"
claim "... also one that is cut" timeout 5 build/trust/unwind-rows "$work/damaged" || true
# The same in one process, of words anywhere: each is read in 2 s of CPU time, or all end.
claim "20000 damaged files are read in time, to rows that can be searched" build/trust/unwind-rows /usr/bin/true 20000 1
done_testing
