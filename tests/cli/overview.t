#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# plumb(7), plumb-tutorial(7) and README.md: each command of theirs is one that its tool takes; the first and the
# last name the same tools.
. "$(dirname "$0")/lib.sh"
page=$cli_top/tools/lib/manual/plumb.7.rst
readme=$cli_top/README.md
declare -A built=()
for tool in "${tools[@]}"; do
	built[$tool]=1
done

# The commands of the page: the last column of literal blocks but that of options, and what stands between
# double backquotes and begins with a name.
of_page() {
	sed -nE '/^    -/d; s/^    .*  ([a-z].*)$/\1/p' "$page" | grep -v '^see '
	grep -oE '``[a-z][^`]* [^`]*``' "$page" | tr -d '`'
}

# Those of README.md: indented, from the name of a tool on, without what is said of them.
of_readme() {
	sed -nE 's/^    ([a-z]+(-[a-z]+)+ .*)$/\1/p' "$readme" | sed -E 's/ +# .*//'
}

# takes COMMAND: a tool that cannot check its arguments has at least the options.
takes() {
	local words word tool
	mapfile -t words < <(xargs printf '%s\n' <<<"${1//PID/$idle}")
	tool=${words[0]}
	if [[ -z ${built[$tool]-} ]]; then
		echo "there is no tool $tool"
	elif has "$tool" --check-arguments; then
		run_bare "$tool" --check-arguments "${words[@]:1}"
		((status == 0)) || echo "status $status"
		cat "$out" "$err"
	else
		for word in "${words[@]:1}"; do
			[[ $word != -- ]] || break
			[[ $word != -* ]] || has "$tool" "${word%%=*}" || echo "there is no $word"
		done
	fi
}

# takes_all WHERE COMMANDS: each, and they are at least MIN.
takes_all() {
	local command
	claim "$1 has commands" test "$(wc -l <"$2")" -ge "$3"
	while IFS= read -r command; do
		is "$1: $command" "$(takes "$command")" ""
	done <"$2"
}

start_idle
of_page | sort -u >"$work/page"
of_readme >"$work/readme"
takes_all "plumb(7)" "$work/page" 60
takes_all README.md "$work/readme" 0
sed -n 's/^    # //p' "${page/plumb.7/plumb-tutorial.7}" >"$work/tutorial"
takes_all "plumb-tutorial(7)" "$work/tutorial" 6

# A tool is in the tables of both, or in none yet.
sed -nE 's/^\| \[([a-z-]+)\]\(tools\/.*/\1/p' "$readme" | sort >"$work/listed"
is "plumb(7) has the tools that README.md lists" "$(sed 's/ .*//' "$work/page" | sort -u)" "$(<"$work/listed")"
done_testing
