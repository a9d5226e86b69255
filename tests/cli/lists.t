#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where --help says that "help" lists the values, it does, and each of them is taken.  Options of histograms are those
# of tools that have some.
. "$(dirname "$0")/lib.sh"

# Options are judged in their order: where the next one is refused, this one was not.
# shellcheck disable=SC2317 # claim calls it
taken() {
	run "$tool" "$1" "$2" --no-such-option
	[[ $status == 2 ]] && grep -q no-such-option "$err" && ! grep -q -e "$1: " "$err"
}

# Of others they would change nothing.
of_histograms() {
	local option found="" expected=""
	has "$tool" --columns || return
	run "$tool" --columns help
	! grep -qw p50 "$out" || expected=" --percentiles --histogram --precision"
	for option in --percentiles --histogram --precision; do
		! has "$tool" "$option" || found+=" $option"
	done
	is "$tool has the options of histograms if it has percentiles" "$found" "$expected"
}

for tool in "${tools[@]}"; do
	of_histograms
	! has "$tool" --slower || claim "$tool --slower 0 is taken, and is all" taken --slower 0
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
