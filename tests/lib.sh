# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# TAP for shell tests: source it, make claims, end with done_testing.
#
#	claim CLAIM COMMAND [ARG...]     the command exits 0
#	holds CLAIM FILE FILTER [JQ-ARG...]
#	                                 jq says neither false nor null (FILE: one or many objects)
#	is CLAIM FOUND WANTED            the texts are equal
#	like CLAIM FOUND REGEX           the text matches
#	skip CLAIM REASON
#	known_to_fail REASON             what follows fails now and then: reported, no failure ('' ends that)
#	evidence FILE...                 to be shown when a claim of what follows fails
#
# A claim is a sentence: "counts 23 known calls exactly".

tap_count=0
tap_failed=0
tap_evidence=()
tap_known=""
# Most of the time of a claim would be jq's start.
tap_jq=$(command -v gojq || echo jq)

known_to_fail() {
	tap_known=$1
}

# The same on 7.x only, by FILE, a report: known_on_7 FILE REASON
known_on_7() {
	! jq -e -s '.[-1].kernel | test("^7[.]")' "$1" >/dev/null 2>&1 || known_to_fail "$2"
}

evidence() {
	tap_evidence=("$@")
}

# Text of stdin as TAP comments, cut to size.
tap_quote() {
	head -c 6000 | head -n 60 | cut -c 1-600 | sed 's/^/#   /'
}

# A report in lines, what matters most first, without what makes it hard to read: its buckets.
tap_readable() {
	if [[ $1 == *.json ]] && jq -e 'objects' "$1" >/dev/null 2>&1; then
		jq -c '.ledger // empty, (.rows[]? | del(.hist)), del(.ledger, .rows)' "$1"
	else
		cat "$1"
	fi
}

tap_show_evidence() {
	local file
	for file in "${tap_evidence[@]}"; do
		if [[ -s $file ]]; then
			echo "# $file:"
			# Buckets make a report unreadable.
			tap_readable "$file" | tr -d '\000' | tap_quote
		elif [[ -e $file ]]; then
			echo "# $file: empty"
		else
			echo "# $file: not there"
		fi
	done
}

# STATUS CLAIM; what explains a failure follows on stdin.
tap_result() {
	tap_count=$((tap_count + 1))
	if (($1 == 0)); then
		echo "ok $tap_count - $2"
		return 0
	fi
	if [[ -n $tap_known ]]; then
		echo "not ok $tap_count - $2 # TODO $tap_known"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $2"
	# prove shows what comes there, and nothing of a test's output.
	{
		echo "# ${tap_name:-$0}: not ok $tap_count - $2"
		tap_quote
		tap_show_evidence
	} >&2
	return 1
}

claim() {
	local name=$1 status=0 output
	shift
	output=$("$@" 2>&1) || status=$?
	tap_result "$status" "$name" <<<"exit status $status: $*"$'\n'"$output"
}

holds() {
	local name=$1 file=$2 filter=$3 output status=0
	shift 3
	output=$("$tap_jq" -n -e "$@" "[inputs] as \$all | \$all[-1] as \$last | $filter" "$file" 2>&1 >/dev/null) || status=$?
	# An empty file makes null of everything: then nothing holds.
	[[ -s $file ]] || status=1
	tap_result "$status" "$name" <<<"does not hold of $file: $filter"$'\n'"$output"
}

is() {
	local status=0
	[[ $2 == "$3" ]] || status=1
	tap_result "$status" "$1" <<<"found:  $2"$'\n'"wanted: $3"
}

like() {
	local status=0
	[[ $2 =~ $3 ]] || status=1
	tap_result "$status" "$1" <<<"found: $2"$'\n'"does not match: $3"
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

done_testing() {
	echo "1..$tap_count"
	((tap_failed == 0)) || exit 1
	exit 0
}
