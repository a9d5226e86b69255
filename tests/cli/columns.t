#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --sort takes every figure of the table, shows it, and sorts by it, highest first, also JSON; --columns
# shows those that it names.  Where a tool cannot trace, they take those that they list.  The figures that
# tools share are sorted by the same code, so one tool of each kind shows that of each of them.
. "$(dirname "$0")/lib.sh"
root_or_end "sorting"

command=(sh -c "exec >/dev/null 2>&1; ls /; ls /nonexistent; sleep 0.01; id
	for count in 3 5; do dd if=/dev/zero of='$work/direct' bs=4096 count=\$count oflag=direct; done
	'$sends' 127.0.0.1,3,1; '$sends' 127.0.0.1,5,5000 127.0.0.1,2,700,epipe; '$usdt' 1; '$usdt' 1; true")

# The heading's figures, as --sort takes them: RATE/S is rate.  What a tool concludes from them
# (a share of a CPU, a verdict) is in their order.
figures() {
	local word
	for word in $(head -n 1 "$out"); do
		word=${word,,} word=${word%/s}
		[[ " $keys " == *" $word "* || $word == *%* || $word == verdict ]] || printf '%s ' "$word"
	done
}

# Values of a column, by its heading, of a table whose other cells have no blanks. The lines of the
# bands of a row's percentiles are not rows.
column() {
	awk -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) { h = tolower($i); sub("/s$", "", h); if (h == name) at = i } next }
		/^  (p[0-9.]+-[0-9.]+|above p[0-9.]+), / { next } !NF { exit } at { sub("[?]$", "", $at); print $at }' "$out"
}

# The figures of a tool that shows no table here.
listed() {
	local figures
	run "$tool" --sort nonsense
	figures=$(sed -n 's/.*known: //p' "$err")
	claim "$tool --sort nonsense: the message lists figures" test "$(wc -w <<<"$figures")" -ge 3
	for figure in $figures; do
		unable "$tool --sort $figure is taken, but nothing traced" "$tool" --sort "$figure"
	done
}

declare -A sorted=() # by kind of tool and figure
for tool in "${kinds[@]}"; do
	if ! has "$tool" --sort || ! has "$tool" COMMAND; then
		continue
	fi
	! has "$tool" --folded || continue # it shows stacks
	traces "$tool" || { listed; continue; }
	keys=$("$bin/$tool" -b help | tr -s '[:space:]' ' ')
	options=()
	! has "$tool" --unit || options+=(-u ns)
	! has "$tool" --no-calibrate || options+=(--no-calibrate)
	[[ " $keys " != *" pid "* ]] || options+=(-b pid)
	run "$tool" "${options[@]}" -- "${command[@]}"
	is "$tool has a table" "$status" 0
	shown=$(figures)
	# These can be had besides, if the tool keeps times, or sizes.
	more='' kind=counts
	if [[ $shown == *p50* ]]; then
		more="mean min"
		[[ $shown == *bytes* ]] && kind="sizes" || kind="times"
	fi
	for figure in $shown $more; do
		[[ -z ${sorted[$kind $figure]-} ]] || continue
		sorted[$kind $figure]=$tool
		run "$tool" "${options[@]}" --sort "$figure" -- "${command[@]}"
		is "$tool --sort $figure is taken" "$status" 0
		claim "$tool --sort $figure shows it" test "$(column "$figure" | wc -l)" -ge 2
		is "$tool --sort $figure sorts by it" "$(column "$figure")" "$(column "$figure" | sort -s -h -r)"
	done
	# The last one first.
	mapfile -t last < <(tr -s ' ' '\n' <<<"$shown $more" | grep . | tac)
	run "$tool" "${options[@]}" --columns "$(IFS=,; echo "${last[*]}")" -- "${command[@]}"
	is "$tool --columns shows what it names, in that order" "$(figures)" "$(printf '%s ' "${last[@]}")"
	[[ " $shown " == *" max "* ]] && by=max || by=rate
	run "$tool" "${options[@]}" -j --sort "$by" -- "${command[@]}"
	claim "$tool --sort $by also sorts JSON" jq -e -s ".[-1].rows | map(.$by) | length > 0 and . == (sort | reverse)" "$out"
	run "$tool" --sort nonsense
	for figure in $shown $more; do
		[[ $figure == p[0-9]* ]] || like "$tool --sort nonsense: the message lists $figure" "$(<"$err")" "[ ,]$figure\b"
	done
	# Shown by itself only if there were some.
	if [[ " $shown" != *" errors "* && $(<"$err") == *" errors"* ]]; then
		run "$tool" "${options[@]}" --sort errors -- "${command[@]}"
		claim "$tool --sort errors shows it, also without errors" test "$(column errors | wc -l)" -ge 2
	fi
done

# Of a container's length.
long=$(printf '%064d' 7)
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [[ -n $top ]] && mkdir "$top/plumb-$$" "$top/plumb-$$/$long" 2>/dev/null; then
	run syscall-latency --no-calibrate -b comm,cgroup -- sh -c "echo \$\$ >'$top/plumb-$$/$long/cgroup.procs'; exec ls /" >/dev/null
	rmdir "$top/plumb-$$/$long" "$top/plumb-$$"
	claim "a long cgroup is shown by its end" grep -q '[^0]0*7 ' "$out"
	is "... in as little as leaves it its id" "$(awk '!NF { exit } $2 ~ /7$/ && length($2) != 24 { print $2 }' "$out")" ""
else
	skip "a long cgroup" "there is no cgroup of version 2"
fi
done_trying
