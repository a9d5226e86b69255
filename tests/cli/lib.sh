# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# For tests of the command line: source it.  They are made of each tool that is
# built, in so far as its --help says that it has the option in question.
#
#	for tool in "${tools[@]}"; do ...   or in "${kinds[@]}": one of each kind
#	run TOOL [ARG...]            its output to $out and $err, its end to $status
#	run_bare TOOL [ARG...]       the same, without the operand that it takes
#	refused CLAIM STATUS WORD... $status, no output, one line that has all the words
#	traces TOOL                  can it trace on this kernel?
#	unable CLAIM TOOL ARG...     it cannot, says of each mechanism why, and starts no command
#	root_or_end WHAT             skips what is left where tracing is not allowed
#	done_trying                  done_testing, if there were claims

cli_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=../lib.sh
. "$cli_top/tests/lib.sh"

bin=${PLUMB_BIN:-$cli_top/build/bin}
export PLUMB_CACHE= # the host's figures are not for tests
work=$(mktemp -d)
out=$work/out err=$work/err status=
# For tools that see nothing but this.
# shellcheck disable=SC2034 # by tests
sends="${bin%/*}/tests/sends"
usdt="${bin%/*}/tests/usdt"
# What is to be traced, for tools that do not know; a tool that is not here takes no operand.
declare -A operand=([event-rate]=page-faults [func-count]='t:sched:sched_*' [func-latency]=vfs_read [func-stack]='t:sched:sched_switch'
	[syscall-slower]=1ms [user-func-latency]=libc:malloc
	[usdt-latency]=$usdt:app:slow_begin)
declare -A second=([usdt-latency]=$usdt:app:slow_end) # the same, of a tool that takes two
declare -A cli_help=() cli_has=() cli_traces=()
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

# One of each kind, where what is tried is code that all share; with CHECK_ALL (scripts/check.sh --all) all tools.
kinds=("${tools[@]}")
if [[ -z ${CHECK_ALL-} ]]; then
	mapfile -t kinds < <(printf '%s\n' "${tools[@]}" |
		grep -xE 'event-rate|func-count|hist-merge|offcpu-time|probe-check|syscall-latency|syscall-slower|wall-time')
fi

# A process of ours that does nothing, the only one that is traced: its pid in $idle.
start_idle() {
	sleep 3600 &
	idle=$!
	cli_started+=("$idle")
}

run_bare() {
	status=0
	# What only checks its arguments needs no limit, which is a process more.
	local limit=(timeout -k 5 20)
	[[ " $* " != *" --check-arguments "* ]] || limit=()
	"${limit[@]}" "$bin/$1" "${@:2}" </dev/null >"$out" 2>"$err" || status=$?
}

run() {
	run_bare "$1" ${operand[$1]:+"${operand[$1]}"} ${second[$1]:+"${second[$1]}"} "${@:2}"
}

# Is there such an option, "-p" or "--pid", or such a word in the lines of usage?
has() {
	local found=${cli_has[$1 $2]-}
	[[ -z $found ]] || return "$found"
	found=0
	[[ -n ${cli_help[$1]-} ]] || cli_help[$1]=$("$bin/$1" --help)
	grep -qE -e "^ +(-., )?$2(=|\[| |$)|^ +$2,|^(Usage|  or):.*\b$2\b" <<<"${cli_help[$1]}" || found=$?
	((found < 2)) || { echo "Bail out! grep cannot look for $2"; kill $$; }
	cli_has[$1 $2]=$found
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
	[[ $text != *" has not mapped /"* ]] || text=$(grep -v " has not mapped /" "$err") # an operand of user code
	[[ $text == "$tool: "* && $text != *$'\n'* ]] || return
	for word in "${@:2}"; do
		[[ $text == *"$word"* ]] || return
	done
}

# Are what it is to trace words, and not an option?
takes_words() {
	[[ ${operand[$1]-} == [!-]* && ${operand[$1]} != 1ms ]]
}

# After run TOOL: CLAIM STATUS TOOL WORD...
refused() {
	local failed=1
	if [[ $status == "$2" && ! -s $out ]] && says "${@:3}"; then
		failed=0
	fi
	tap_result "$failed" "$1" <<<"exit status $status, wanted $2, with nothing on stdout and one line '$3: …' that has: ${*:4}" || :
}

# Found by trying, once: what ends otherwise than with a trace or as a kernel that cannot is a failure.
traces() {
	if [[ -z ${cli_traces[$1]-} ]]; then
		run "$1" -d 0.01 -p $$
		claim "$1 can trace here, or says that it cannot" test "$status" = 0 -o "$status" = 77 || :
		cli_traces[$1]=$status
	fi
	[[ ${cli_traces[$1]} != 77 ]]
}

# The mechanisms of a tool, of which it tries the last one last.
mechanisms() {
	"$bin/$1" --mechanism '' 2>&1 | sed -n 's/.*known: //p'
}

# Each line of the message is about another mechanism, to the last one; or about the one that was asked for.
excuses() {
	local tool=$1 known name names
	known=$(mechanisms "$tool")
	names=$(sed -nE "s/^$tool: ([a-z_.]+) refused: .{4,}/\\1/p" "$err")
	[[ -n $names && $(wc -l <<<"$names") == $(wc -l <"$err") && -z $(sort <<<"$names" | uniq -d) ]] || return
	for name in $names; do
		[[ " $known " == *" $name "* ]] || return
	done
	case " ${*:2} " in
	*" --mechanism="*) [[ " ${*:2} " == *" --mechanism=$names "* ]] ;;
	*) [[ $name == "${known##* }" ]] ;;
	esac
}

# A command that is not started is appended to the arguments.
unable() {
	local failed=1
	run "${@:2}" -- touch "$work/started"
	if [[ $status == 77 && ! -s $out && ! -e $work/started ]] && excuses "${@:2}"; then
		failed=0
	fi
	tap_result "$failed" "$1" <<<"exit status $status, wanted 77, with nothing on stdout, lines '$2: MECHANISM refused: …' \
only, for each that was to be tried, and no $(ls "$work/started" 2>&1)" || :
}

# The end: a test that found nothing to try has not passed.
done_trying() {
	claim "no tool that cannot trace has started a command" test ! -e "$work/started"
	claim "there was something to try" test "$tap_count" -ge $((5 * ${#kinds[@]}))
	done_testing
}

root_or_end() {
	((EUID == 0)) && return
	skip "$1" "tracing takes root"
	done_testing
}
