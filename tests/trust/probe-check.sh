# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2034
#
# probe-check, as its tests call it: in a directory of its own, its output in $out as JSON.

. tests/lib.sh

top=$PWD
bin=${PLUMB_BIN:-build/bin}
[[ $bin == /* ]] || bin=$top/$bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out err=$work/err
evidence "$out" "$err"
cd "$work" || exit 1

# STATUS ARG... - its output as JSON
checks() {
	local wanted=$1 status=0
	shift
	timeout 60 "$bin/probe-check" -j "$@" </dev/null >"$out" 2>"$err" || status=$?
	is "probe-check $* ends with $wanted" "$status" "$wanted"
}

# TARGET VERDICT [INLINED CALLS] - of what is in the output
verdict() {
	is "$1 is $2${3:+, inlined $3, called $4}" \
		"$(jq -r --arg t "$1" '.checks[] | select(.target == $t) | "\(.verdict) \(.inlined) \(.calls)"' "$out" |
			{ if (($# > 2)); then cat; else sed 's/ [^ ]* [^ ]*$//'; fi; })" "$2${3:+ $3 $4}"
}

why() {
	like "$1: $2" "$(jq -r --arg t "$1" '.checks[] | select(.target == $t).why' "$out")" "$2"
}

# Wrong usage, or what cannot run: STATUS WORD ARG...
refused() {
	local status=0
	timeout 60 "$bin/probe-check" "${@:3}" </dev/null >"$out" 2>"$err" || status=$?
	is "probe-check ${*:3} ends with $1, one line and no output" "$status $(wc -l <"$err") $(wc -c <"$out")" "$1 1 0"
	like "probe-check ${*:3} names $2" "$(<"$err")" "^probe-check: .*$2"
}

# As sys/sdt.h does it: a place in the code, and a note that leads to it.
make_traced() {
	cat >traced.c <<'END'
#include <unistd.h>
#define PROBE __asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n" \
	".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n" \
	"993: .8byte 990b, 0, 0\n.asciz \"mine\"\n.asciz \"here\"\n.asciz \"\"\n994: .balign 4\n.popsection")
int main(void) { for (;;) { PROBE; PROBE; usleep(1000); } }
END
	gcc -o traced traced.c
}
