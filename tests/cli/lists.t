#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where --help says that "help" lists the values, it does, and each of them is taken.
. "$(dirname "$0")/lib.sh"

# Options are judged in their order: where the next one is refused, this one was not.
# shellcheck disable=SC2317 # claim calls it
taken() {
	run "$tool" "$1" "$2" --no-such-option
	[[ $status == 2 ]] && grep -q no-such-option "$err" && ! grep -q -e "$1: " "$err"
}

for tool in "${tools[@]}"; do
	listing=$(ARGP_HELP_FMT=rmargin=1000 "$bin/$tool" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).* help lists.*/\2/p')
	has "$tool" --by && like "$tool --by can list its values" "$listing" --by
	for option in $listing; do
		run "$tool" "$option" help
		is "$tool $option help exits 0" "$status" 0
		is "$tool $option help says nothing on stderr" "$(<"$err")" ""
		# arg:NAME says what values are like: arg:x; arg:N is a number
		mapfile -t values < <(tr -s '[:space:]' '[\n*]' <"$out" | sed 's/\<arg:N\>.*/arg:0/; s/[A-Z].*/x/')
		claim "$tool $option help lists something" test "${#values[@]}" -ge 1
		is "$tool $option help lists nothing twice" "$(printf '%s\n' "${values[@]}" | sort | uniq -d)" ""
		if grep -qE -- "$option=[A-Z]+\[,\.\.\.\]" <<<"$("$bin/$tool" --help)"; then
			claim "$tool $option takes all of them together" taken "$option" "$(IFS=,; echo "${values[*]}")"
		elif ((${#values[@]} < 50)); then
			for value in "${values[@]}"; do
				claim "$tool $option $value is taken" taken "$option" "$value"
			done
		fi
	done
done
done_trying
