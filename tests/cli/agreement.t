#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --help, manual and completion name the same options.
. "$(dirname "$0")/lib.sh"
# shellcheck source=../../tools/lib/completion.bash
. "$cli_top/tools/lib/completion.bash"
PATH=$bin:$PATH

of_help() {
	"$bin/$tool" --help | sed -nE 's/^ +(-.), (--[a-z-]+).*/\1\n\2/p; s/^ +(--[a-z-]+).*/\1/p' | sort
}

# A page's source, with what it includes.
source_of() {
	local line room=${1%/*}
	while IFS= read -r line; do
		if [[ $line =~ ^\.\.\ include::\ +(.*[^ ]) ]]; then
			source_of "$room/${BASH_REMATCH[1]}"
		else
			printf '%s\n' "$line"
		fi
	done <"$1"
}

# An option is told of in a definition: **-p PID[,...], --pid=PID[,...]**
of_manual() {
	source_of "$cli_top/tools/$tool/$tool.rst" | grep -E '^\*\*-' | tr -d '*`' |
		grep -oE '(^|, )--?[[:alpha:]][[:alnum:]-]*' | sed 's/^, //' | sort
}

of_completion() {
	COMP_LINE="$tool -" COMP_POINT=$((${#tool} + 2)) COMP_WORDS=("$tool" -) COMP_CWORD=1
	COMPREPLY=()
	_plumb "$tool" - "$tool"
	printf '%s\n' "${COMPREPLY[@]%=}" | sort
}

for tool in "${tools[@]}"; do
	of_help >"$work/help"
	of_manual >"$work/manual"
	of_completion >"$work/completion"
	claim "$tool --help names options" test "$(wc -l <"$work/help")" -ge 4
	for of in help manual completion; do
		is "$tool: none is twice in $of" "$(uniq -d "$work/$of")" ""
	done
	is "$tool: the manual has all of --help" "$(comm -23 "$work/help" "$work/manual")" ""
	is "$tool: --help has all of the manual" "$(comm -13 "$work/help" "$work/manual")" ""
	is "$tool: completion has all of --help" "$(comm -23 "$work/help" "$work/completion")" ""
	is "$tool: --help has all of completion" "$(comm -13 "$work/help" "$work/completion")" ""
	page=${bin%/*}/man/$tool.8
	if [[ -e $page ]]; then
		for option in $(<"$work/help"); do
			grep -qF -e "${option//-/\\-}" "$page" || echo "$option"
		done >"$work/missing"
		is "$tool: the page that is installed has all of --help" "$(<"$work/missing")" ""
	fi
done
done_trying
