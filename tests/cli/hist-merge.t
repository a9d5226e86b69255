#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# hist-merge: what it makes of many reports is what the values say that these were made of.
. "$(dirname "$0")/lib.sh"

reports=$cli_top/tests/cli/reports.py
d=$work/d
mkdir "$d"
tool=hist-merge
all=("$d"/{a,b,c,d,e}.json)

merge() {
	run_bare "$tool" "$@"
}

# CLAIM OPTION... - merged with these, a result is what the values say
right() {
	local name=$1 option kept=()
	shift
	for option; do
		[[ $option != --every=* ]] || option=--every=60
		[[ $option != --@(by|every)=* ]] || kept+=("$option")
	done
	merge -j "$@" "${all[@]}"
	claim "$name" "$reports" check "$d" "$out" "${kept[@]}"
	is "$name: nothing is said" "$status $(<"$err")" "0 "
}

"$reports" make "$d"
right "rows of five hosts are those of all their calls"
right "by comm" --by=comm
right "by host, too" --by=host,comm
right "in one row" --by=none
right "each minute" --every=1m
right "each minute by host" --every=1m --by=host,pid
cp "$out" "$work/by-host"

# --- merged again ---
merge -j "${all[@]}"
cp "$out" "$work/whole"
merge -j "$d"/a.json "$d"/b.json && cp "$out" "$work/ab"
merge -j "$d"/c.json "$d"/d.json && cp "$out" "$work/cd"
merge -j "$work/cd" "$d"/e.json && cp "$out" "$work/cde"
merge -j "$work/cde" "$work/ab"
same='del(.sources, .reports, .hosts, .start, .end) | .rows |= sort_by(.key | tostring)'
is "parts that are merged first, in any order, give the same" "$(jq -cS "$same" "$out")" "$(jq -cS "$same" "$work/whole")"
is "so do their hosts" "$(jq -c '.hosts | sort' "$out")" "$(jq -c '.hosts | sort' "$work/whole")"
is "and their times" "$(jq -c '[.start, .end]' "$out")" "$(jq -c '[.start, .end]' "$work/whole")"
merge -j --every=1m "${all[@]}" && cp "$out" "$work/minutes"
merge -j "$work/minutes"
is "minutes that are merged give the whole" "$(jq -cS "$same | .ledger" "$out")" "$(jq -cS "$same | .ledger" "$work/whole")"
merge -j --by=host,pid "$work/by-host"
claim "rows by host keep their host" "$reports" check "$d" "$out" --by=host,pid

# --- what was lost, and who lost it ---
is "of each run the last ledger counts" "$(jq -c '[.ledger.recorded, .ledger.lost, .ledger.missed]' "$work/whole")" \
	"$(tail -qn 1 "${all[@]}" | jq -s -c 'map(.ledger) | [(map(.recorded) | add), null, null]')"
merge "${all[@]}"
is "hosts that lost calls are named" "$(grep -o 'host . *: [0-9]* lost' "$out" | paste -sd ';')" "host b: 7 lost;host d: 6 lost"
like "a run without its first report is told of" "$(<"$out")" "1 run: the first reports are missing"
# Three dumps of a run of five reports: the intervals that were kept are in all of them.
head -n 3 "$d/a.json" >"$work/dump.2"
sed -n 2,4p "$d/a.json" >"$work/dump.1"
tail -n 4 "$d/a.json" >"$work/dump"
merge -j "$d/a.json"
jq -cS '[.ledger, .rows, .reports]' "$out" >"$work/once"
for order in "dump.2 dump.1 dump" "dump dump.1 dump.2" "dump.1 dump dump.2"; do
	# shellcheck disable=SC2086,SC2046 # words
	merge -j $(printf "$work/%s " $order)
	is "dumps of a run count each interval once, in the order $order" "$(jq -cS '[.ledger, .rows, .reports]' "$out")" "$(<"$work/once")"
	is "... and tell how many were there before" "$(jq .repeated "$out")" \
		"$(($(cat "$work"/dump* | wc -l) - $(wc -l <"$d/a.json")))"
done
# A dump by a signal ends with a part of an interval.
half='.end = (.start | sub("0[.]0"; "5.0")) | .dump = {number: 1, why: "signal", intervals: 3, forgotten: 0} | .rows |= map(.count = 1 | .hist = [.hist[0] | .[2] = 1] | .errors = 0 | .sum = .hist[0][0] | .min = .sum | .max = .hist[0][1])'
jq -c "if input_line_number == 3 then $half else . end" <(head -n 3 "$d/a.json") >"$work/dump.2"
merge -j "$work/dump" "$work/dump.2" "$work/dump.1"
is "a part of an interval does not count if another dump has all" "$(jq -cS '[.ledger, .rows, .reports]' "$out")" "$(<"$work/once")"
merge -j "$work/dump.2"
is "... it does if no other has" "$(jq -c '[.reports, ([.rows[].count] | add)]' "$out")" \
	"$(jq -s -c '[length, ([.[].rows[].count] | add)]' "$work/dump.2")"
cp "$d/a.json" "$work/copy"
merge "$d/a.json" "$work/copy"
like "a copy of a file is not counted, and the footer says so" "$(<"$out")" "passed over: $(wc -l <"$work/copy") reports read before"
# Two runs in one file, one after the other, and mixed.
sed 's/"pid":/"tid":/g; s/"recorded":[0-9]*/"recorded":1000/; s/0[.]000000000Z/0.000000001Z/g' "$d/a.json" >"$work/second"
merge -j <(cat "$d/a.json" "$work/second")
is "runs of a host are told apart" "$(jq .ledger.recorded "$out")" "$(($(tail -n 1 "$d/a.json" | jq .ledger.recorded) + 1000))"
jq -c '.host = (range(25) | tostring) | .final = true' <(head -n 1 "$d/b.json") >"$work/losers"
merge "$work/losers"
is "20 hosts are named, the others counted" "$(grep -c '  host .*lost' "$out") $(grep -o '[0-9]* more hosts lost' "$out")" "20 5 more hosts lost"

# --- what not all tools have ---
jq -c '.rows[] |= (.count as $n | . + {cpu: ({sum, min, max, percentiles, low_samples, hist} | .sum = $n * .max)})' "$d/a.json" >"$work/second"
merge -j "$work/second"
holds "a second measure is merged like the first" "$out" 'all($last.rows[]; .cpu.hist == .hist and .cpu.percentiles == .percentiles and .cpu.sum > .sum)'
is "... with its own sum" "$(jq '[.rows[].cpu.sum] | add' "$out")" "$(jq -s '[.[].rows[].cpu.sum] | add' "$work/second")"
merge "$work/second"
is "and has a line of its own" "$(grep -c '^  cpu ' "$out")" 6
merge -j "$work/second" "$d/b.json"
cp "$out" "$work/lacking"
merge -j "$work/lacking" "$d/c.json"
is "of reports that have it in part, it is not in the result, which can be merged again" \
	"$status$(<"$err") $(jq '[.rows[] | has("cpu")] | any' "$work/lacking") $(jq '[.rows[].count] | add' "$out")" \
	"0 false $(jq -s '[.[].rows[].count] | add' "$d"/[abc].json)"
merge "$work/second" "$d/b.json"
like "... which the footer says" "$(<"$out")" "  left out: cpu, which some of the reports do not have"
jq -c 'del(.rows[] | .hist, .sum, .min, .max)' "$d/a.json" >"$work/counts"
merge -j "$work/counts"
is "of rows without histograms the calls are counted" "$(jq -c '[.rows[] | [.count, .errors, (has("hist") | not)]]' "$out")" \
	"$(merge -j "$d/a.json" && jq -c '[.rows | sort_by(-.count)[] | [.count, .errors, true]]' "$out")"
# Null is what a tool did not look for: of a sum with it nothing is known.
jq -c '.ledger.both_lost = null | .ledger.lost = null | .ledger.lost_at_least = 9 | .ledger.in_flight = 3 | .rows[0].errors = null' <(tail -n 1 "$d/a.json") >"$work/nulls"
jq -c '.host = "other" | .ledger.both_lost = 1 | .ledger.lost = 1 | .ledger.lost_at_least = 1 | .ledger.in_flight = 2' "$work/nulls" >>"$work/nulls2"
cat "$work/nulls" >>"$work/nulls2"
merge -j "$work/nulls2"
holds "what is null in one report is null in the sum" "$out" '$last | .ledger.both_lost == null and .ledger.in_flight == 5
	and .ledger.lost == null and .ledger.lost_at_least == 10 and ([.hosts[].lost] | sort) == [null, 1]
	and ([.rows[] | select(.errors == null)] | length == 1)'
merge "$work/nulls2"
like "what had not ended is in the footer" "$(<"$out")" "  5 had not ended"
like "... nor how many failed" "$(<"$out")" "^[^ ]+ .* [0-9]+ +- +"
like "... and that not all that was lost is known" "$(<"$out")" "ledger: [0-9]+ recorded, 10 lost, misses unknown on a kernel"
sed 's/"syscall-latency"/"skb-alloc"/' "$d/a.json" >"$work/sizes"
merge -H -b none "$work/sizes"
like "sizes are in bytes" "$(<"$out")" " [0-9.]+K +[0-9.]+K .* [0-9.]+M"$'\n'

# --- too many keys ---
merge -j --max-keys=3 "${all[@]}"
holds "further keys are in [other]" "$out" '$last | (.rows | length == 4) and ([.rows[].count] | add) == '"$(jq '[.rows[].count] | add' "$work/whole")"
holds "and counted as pooled" "$out" '$last | .ledger.pooled == (.rows[] | select(.key.other)).count and .ledger.pooled > 0'
cp "$out" "$work/pooled"
merge -j "$work/pooled" "$d/a.json"
holds "what was pooled stays so" "$out" '[$last.rows[] | select(.key.other)] | length == 1'

# --- differing precision ---
mkdir "$work/mixed"
"$reports" make "$work/mixed" 7 10 4
d=$work/mixed all=("$work/mixed"/{a,b,c,d,e}.json)
right "reports of 4, 7 and 10 bits are merged at 4"
holds "that is what it says" "$out" '$last | .precision_bits == 4 and .coarsened > 0'
all=("$work/mixed"/{e,c,a,b,d}.json)
right "in another order, too" --every=1m
for order in "a b c d e" "c b a e d" "b a d c e"; do
	# shellcheck disable=SC2086,SC2046 # words
	merge -j $(printf "$d/%s.json " $order)
	is "the reports of 7 and 10 bits are coarsened, in the order $order" "$(jq .coarsened "$out")" \
		"$(cat "$d"/?.json | jq -s 'map(select(.precision_bits > 4)) | length')"
done
merge "${all[@]}"
like "the table says so" "$(<"$out")" "different precision, 4 to 10 bits: merged at 4"

# --- the plotter's files, beside HdrHistogram's own ---
jar=/usr/share/java/hdrhistogram.jar
# The value and the number of calls of each level; those of HdrHistogram are not limited by the maximum.
levels() {
	awk -v max="$1" '/^ *[0-9.]+ [01][.]/ { printf "%d %.9f %d\n", $1 < max ? $1 : max, $2, $3 }'
}
if [[ -e $jar ]] && command -v java >/dev/null; then
	for bits in 4 7 10; do
		mkdir "$work/hdr$bits"
		"$reports" make "$work/hdr$bits" "$bits"
		"$reports" hgrm "$work/hdr$bits" cat "$bits" >"$work/log"
		java -cp $jar org.HdrHistogram.HistogramLogProcessor -i "$work/log" -o "$work/theirs" -outputValueUnitRatio 1 >"$err" 2>&1
		merge -b comm --hgrm="$work/ours$bits" "$work/hdr$bits"/?.json
		ours=$work/ours$bits/comm=cat.hgrm
		max=$(sed -nE 's/^#\[Max *= *([0-9]+)[.].*/\1/p' "$ours")
		claim "$bits bits: there are levels" test "$(levels "$max" <"$ours" | wc -l)" -gt 30
		is "$bits bits: they are HdrHistogram's" "$(levels "$max" <"$ours")" "$(levels "$max" <"$work/theirs.hgrm")"
		is "$bits bits: so are the numbers of buckets" "$(grep -oE 'Total count *= *[0-9]+|SubBuckets *= *[0-9]+' "$ours")" \
			"$(grep -oE 'Total count *= *[0-9]+|SubBuckets *= *[0-9]+' "$work/theirs.hgrm")"
		for figure in Mean StdDeviation; do
			claim "$bits bits: $figure is HdrHistogram's, whose values are in the middle of buckets" awk -v of="$figure *=" -v bits="$bits" '
				match($0, of) { value[n++] = substr($0, RSTART + RLENGTH) + 0 }
				END { off = value[0] / value[1] - 1; exit !(n == 2 && (off < 0 ? -off : off) < 1 / 2 ^ bits) }' "$ours" "$work/theirs.hgrm"
		done
	done
	merge -b none --hgrm="$work/all" "$d"/?.json
	is "that of all calls has a name, too" "$(ls "$work/all")" all.hgrm
	is "each row has a file, also one with a name that files do not have" "$(find "$work/ours10" -name '*.hgrm' | wc -l)" 3
else
	skip "files for the plotter" "no HdrHistogram here (Debian: libhdrhistogram-java, default-jre-headless)"
fi

d=$work/d all=("$work/d"/{a,b,c,d,e}.json)
merge -b comm --ladder -u ns "${all[@]}"
is "the ladder has the values and the calls above" \
	"$(sed -n '/^comm=cat:/,/^ *100 /p' "$out" | sed 1,2d | awk '{ sub("[?]", ""); print $1, $2, $3 }')" "$("$reports" ladder "$d" cat)"
"$reports" pair "$work" 1
merge --ladder -u ns "$work/before"
is "no calls are above their own value" "$(sed -n '/^comm=seldom:/,/^ *100 /p' "$out" | sed 1,2d | awk '{ print $2 + 0, $3 }' | uniq -c | tr -s ' ')" " 9 5 0"
is "-b help lists the keys that reports have" "$("$bin/hist-merge" -b help | tr ' ' '\n' | grep -vx host | sort)" \
	"$(jq -r '[."$defs"[] | .. | objects | .key?.properties? // empty | keys[]] | unique | map(select(. != "other" and . != "host"))[]' \
		"${bin%/*}/plumb-2.schema.json" | sort)"

# --- as it comes ---
mkfifo "$work/pipe"
"$bin/hist-merge" --every=1m -j - <"$work/pipe" >"$out" 2>"$err" &
cli_started+=($!)
exec 9>"$work/pipe"
cat "$d/a.json" >&9
sed 's/T12:/T13:/g; s/T11:/T12:/g' "$d/a.json" >&9
for _ in {1..100}; do
	(($(wc -l <"$out"))) && break
	sleep 0.1
done
holds "a minute is printed before the input ends" "$out" '$all[0] | .start == "2026-01-31T11:59:00.000000000Z" and (.final | not)'
exec 9>&-
wait "${cli_started[-1]}"
holds "the last one is the final one" "$out" '[$all[].final] == [range($all | length - 1) | false] + [true]'
merge --every=1m <(sed 's/T12:/T13:/g; s/T11:/T12:/g' "$d/a.json"; cat "$d/a.json")
refused_late=$(<"$err")
like "a report of a minute that is printed is refused" "$refused_late" ":8: a report of a time whose result is printed already"

"$reports" many 1000 32 2 >"$work/many"
status=0
(ulimit -v 65536 && exec "$bin/hist-merge" -j -) <"$work/many" >"$out" 2>"$err" || status=$?
is "1,000 hosts are merged in 64 MB of address space" "$status $(jq -c '[.reports, (.hosts | length), .rows[0].count]' "$out")" "0 [2000,1000,80000]"
done_testing
