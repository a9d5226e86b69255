#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# zsh and fish offer what bash offers: each by asking the tool.
. "$(dirname "$0")/lib.sh"
PATH=$bin:$PATH
start_idle

# As they are installed.
mkdir "$work/fpath" "$work/functions" "$work/one" "$work/one/two"
{ echo "#compdef ${tools[*]}"; cat "$cli_top/tools/lib/completion.zsh"; } >"$work/fpath/_plumb-tools"
cp "$cli_top/tools/lib/completion.fish" "$work/functions/plumb-tools.fish"
for tool in "${tools[@]}"; do
	ln -s plumb-tools.fish "$work/functions/$tool.fish"
done

# A line and a tab before what completes its last word, as its last part: bash has "--option=" and others of a
# list before it, or only what follows the last "=" or ":".
last_parts() {
	awk -F '\t' '{
		n = split($2, word, " ")
		delete seen
		for (i = 1; i <= n; i++) {
			one = word[i]
			sub(/\/$/, "", one)
			sub(/=$/, "", one)
			sub(/.*[=,\/:!]/, "", one)
			seen[one]
		}
		n = asorti_portable(seen, sorted)
		printf "%s\t", $1
		for (i = 1; i <= n; i++) printf "%s%s", sorted[i], i < n ? " " : ""
		print ""
	}
	function asorti_portable(from, to,    k, i, j, n, t) {
		for (k in from) to[++n] = k
		for (i = 2; i <= n; i++) {
			t = to[i]
			for (j = i - 1; j > 0 && to[j] > t; j--) to[j + 1] = to[j]
			to[j + 1] = t
		}
		return n
	}'
}

# Of each tool the options; of one all kinds of values.
lines=("${kinds[@]/%/ --}" "${kinds[0]} --nonsense")
tool=syscall-latency
lines+=("$tool --pid=$idle" "$tool -p $idle" "$tool -b " "$tool --by=pid," "$tool -u " "$tool --unit=m" "$tool -s reada" "$tool -s \\!nanosl"
	"$tool -g $work/o" "$tool -d " "$tool -- setpri" "$tool --audit=sy" "$tool --audit=$work/o")

# shellcheck source=../../tools/lib/completion.bash
. "$cli_top/tools/lib/completion.bash"
offers_bash() {
	local line spaced
	while IFS= read -r line; do
		spaced=${line//=/ = }
		COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
		read -ra COMP_WORDS <<<"$spaced"
		[[ $line != *[[:space:]=] ]] || COMP_WORDS+=('')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_plumb "${line%% *}" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]-}" </dev/null
		printf '%s\t%s\n' "$line" "${COMPREPLY[*]}"
	done
}

printf '%s\n' "${lines[@]}" >"$work/lines"
offers_bash <"$work/lines" | last_parts >"$work/bash"
is "bash answers each line" "$(wc -l <"$work/bash")" "${#lines[@]}"
for shell in zsh fish; do
	if ! command -v "$shell" >/dev/null; then
		skip "$shell offers what bash offers" "there is no $shell"
		continue
	fi
	case $shell in
	zsh) timeout 300 zsh -f "$cli_top/tests/cli/offers.zsh" "$work/fpath" ;;
	fish) HOME=$work timeout 300 fish --no-config "$cli_top/tests/cli/offers.fish" "$work/functions" ;;
	esac <"$work/lines" 2>"$work/$shell.err" | last_parts >"$work/$shell"
	evidence "$work/$shell.err"
	for tool in "${kinds[@]}"; do
		is "$shell offers of $tool what bash offers" "$(grep "^$tool " "$work/$shell")" "$(grep "^$tool " "$work/bash")"
	done
done
is "of the options there are some" "$(awk -F '\t' '$1 ~ / --$/ && $2 ~ /about.*version/' "$work/bash" | wc -l)" "${#kinds[@]}"
done_testing
