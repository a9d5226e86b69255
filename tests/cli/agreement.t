#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --help, manual and completion name the same options.  Those that tools share are in a page in short, and are
# described in plumb-common(7): in the same words up to the colon.
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

# An option is described in a definition, **-p PID[,...], --pid=PID[,...]**, or is in a short list: | **...**: what it does
of_manual() {
	source_of "$cli_top/tools/$tool/$tool.rst" | sed -nE 's/^\| (\*\*-.*\*\*): .*/\1/; /^\*\*-/p' | tr -d '*`' |
		grep -oE '(^|, )--?[[:alpha:]][[:alnum:]-]*' | sed 's/^, //' | sort
}

of_completion() {
	COMP_LINE="$tool -" COMP_POINT=$((${#tool} + 2)) COMP_WORDS=("$tool" -) COMP_CWORD=1
	COMPREPLY=()
	_plumb "$tool" - "$tool"
	printf '%s\n' "${COMPREPLY[@]%=}" | sort
}

manual=$cli_top/tools/lib/manual
sed -nE 's/^\| \*\*(-.*)\*\*: .*/\1/p' "$manual"/names*.rst | sort >"$work/short"
source_of "$manual/plumb-common.7.rst" | sed -nE 's/^\*\*(-.*)\*\*$/\1/p' | grep -v '^-- ' | sort >"$work/whole"
claim "tools share options" test "$(wc -l <"$work/short")" -ge 40
is "plumb-common(7) describes the options that pages have in short, and no other" "$(<"$work/whole")" "$(<"$work/short")"

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
