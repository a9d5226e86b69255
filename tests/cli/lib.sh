# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# For tests of the command line: source it.  They are made of each tool that is
# built, in so far as its --help says that it has the option in question.
#
#	for tool in "${tools[@]}"; do ...
#	run TOOL [ARG...]            its output to $out and $err, its end to $status
#	refused CLAIM STATUS WORD... $status, no output, one line that has all the words
#	root_or_end WHAT             skips what is left where tracing is not allowed
#	done_trying                  done_testing, if there were claims

cli_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=../lib.sh
. "$cli_top/tests/lib.sh"

bin=${PLUMB_BIN:-$cli_top/build/bin}
work=$(mktemp -d)
out=$work/out err=$work/err status=
declare -A cli_help=()
evidence "$out" "$err"

cli_started=()
cli_clean() {
	local pid
	for pid in "${cli_started[@]}"; do
		kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	rm -rf "$work"
}
trap cli_clean EXIT

tools=("$bin"/*)
tools=("${tools[@]##*/}")
[[ -x $bin/${tools[0]} ]] || {
	echo "Bail out! no tools in $bin: make"
	exit 1
}

# A process of ours that does nothing, the only one that is traced: its pid in $idle.
start_idle() {
	sleep 300 &
	idle=$!
	cli_started+=("$idle")
}

run() {
	status=0
	timeout -k 5 20 "$bin/$1" "${@:2}" </dev/null >"$out" 2>"$err" || status=$?
}

# Is there such an option, "-p" or "--pid", or such a word in the lines of usage?
has() {
	local found=0
	[[ -n ${cli_help[$1]-} ]] || cli_help[$1]=$("$bin/$1" --help)
	grep -qE -e "^ +(-., )?$2(=|\[| |$)|^ +$2,|^(Usage|  or):.*\b$2\b" <<<"${cli_help[$1]}" || found=$?
	((found < 2)) || { echo "Bail out! grep cannot look for $2"; kill $$; }
	return "$found"
}

# The names of an option: "--pid" for "-p" and for "--pid" itself.
long_of() {
	has "$1" "$2" || return
	if [[ $2 == --* ]]; then
		echo "$2"
	else
		sed -nE "s/^ +$2, (--[a-z-]+).*/\1/p" <<<"${cli_help[$1]}"
	fi
}

# TOOL's message is one line that begins with its name and has these words.
says() {
	local tool=$1 word text
	text=$(<"$err")
	[[ $text == "$tool: "* && $text != *$'\n'* ]] || return
	for word in "${@:2}"; do
		[[ $text == *"$word"* ]] || return
	done
}

# After run TOOL: CLAIM STATUS TOOL WORD...
refused() {
	local failed=1
	if [[ $status == "$2" && ! -s $out ]] && says "${@:3}"; then
		failed=0
	fi
	tap_result "$failed" "$1" <<<"exit status $status, wanted $2, with nothing on stdout and one line '$3: …' that has: ${*:4}" || :
}

# The end: a test that found nothing to try has not passed.
done_trying() {
	claim "there was something to try" test "$tap_count" -ge $((5 * ${#tools[@]}))
	done_testing
}

root_or_end() {
	((EUID == 0)) && return
	skip "$1" "tracing takes root"
	done_testing
}
