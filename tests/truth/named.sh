# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=sh disable=SC2154
# syscall-slower: arguments by name, as the source of a workload spells them, and as strace does.

run() {
	# shellcheck disable=SC2034 # by what starts a tool
	program=syscall-slower quick=--no-calibrate
	start naming named
	attach names 1ns -p "$pid"
	launch names-text 1ns -p "$pid"
	await 30 is_tracing names-text
	go naming
	detach names names-text
	if command -v strace >/dev/null; then
		strace -qq -o strace.out named >/dev/null 2>strace.err || cat strace.err >strace.skip
	else
		echo "there is no strace" >strace.skip
	fi
}

# The calls between the workload's marks, as the tool writes them.
said='[$all[] | .call // empty] | map(.syscall) as $names
	| .[($names | index("getppid")) + 1 : ($names | index("getsid"))]
	| map(select(.syscall != "getpgid")) as $found'

# Of strace's lines those between the marks, without the results, as the workload has them.
by_strace() {
	sed -n '/^getppid(/,/^getpgid(/p' strace.out | sed '1d; $d; s/ *= -*[0-9]* *[A-Z]*\( (.*)\)*$//'
}

check() {
	evidence names.json names.err naming.truth
	if jq -e '.call | select(.syscall == "lseek").arguments == null' names.json >/dev/null; then
		skip "arguments are named as the source names them" "this mechanism has no arguments on this kernel"
		return
	fi
	holds "arguments are named as the source names them" names.json "$said"'
		| [$found[] | "\(.syscall)(\([.argument_text[] | select(.)] | join(", ")))"] as $tool
		| [$truth[0].calls[].text] as $source
		| if $tool == $source then . else error("\($tool - $source), not \($source - $tool)") end' \
		--slurpfile truth naming.truth
	jq -r '.calls[].text' naming.truth | while IFS= read -r text; do
		grep -qF " $text = " names-text.json || echo "$text"
	done >missing
	evidence names-text.json missing
	is "... each is in a line of the text" "$(cat missing)" ""
	holds "errors are named, and nothing else is one" names.json "$said"'
		| all($found[]; (.error != null) == (.ret < 0)) and any($found[]; .error == "EBADF" and .ret == -9)
			and any($found[]; .error == "ESRCH" and .ret == -3)'
	if [ -e strace.skip ]; then
		skip "strace spells them so, too" "$(head -n 1 strace.skip)"
	else
		evidence strace.out
		# getpgid() is the mark between calls without and with times.
		jq -r '.calls[].text' naming.truth | sed '/^nanosleep(/,$d' >spelled
		by_strace >strace.calls
		is "strace spells them so, too" "$(cat spelled)" "$(cat strace.calls)"
	fi
}
