# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Read the configuration of one window and print what it means, one "NAME VALUE" a line: when, zone,
# seconds, keep_minutes, keep_bytes, and a "word" for each word of the command. Errors, as
# "FILE:LINE: MESSAGE", go to standard error, the first one of each line.
# Variables: file, its name in messages; tools, those that may run, separated by blanks.

BEGIN {
	split("WHEN ZONE FOR UNTIL COMMAND KEEP KEEP_SIZE", list, " ")
	for (i in list)
		known[list[i]] = 1
	split(tools, list, " ")
	for (i in list)
		is_tool[list[i]] = 1
	value["KEEP"] = "30d"
	value["KEEP_SIZE"] = "1G"
}

function error(line, message) {
	print file ":" line ": " message >"/dev/stderr"
	failed = 1
}

/^[ \t]*(#|$)/ { next }

/[^ -~\t]/ {
	error(FNR, "a character that is not printable ASCII (lines end in LF alone)")
	next
}

{
	equals = index($0, "=")
	name = substr($0, 1, equals - 1)
	if (!equals || name !~ /^[A-Za-z_]+$/) {
		error(FNR, "not NAME=VALUE, without blanks around the =: " $0)
		next
	}
	if (!(name in known)) {
		error(FNR, "unknown name: " name " (known: WHEN, ZONE, FOR or UNTIL, COMMAND, KEEP, KEEP_SIZE)")
		next
	}
	if (name in line) {
		error(FNR, name " is also in line " line[name])
		next
	}
	line[name] = FNR
	value[name] = substr($0, equals + 1)
	gsub(/^[ \t]+|[ \t]+$/, "", value[name])
	if (value[name] == "")
		error(FNR, name " is empty")
}

# The seconds of "1h30m"; -1: it is none. Without a number's unit it is none either.
function seconds_of(text,    sum, number) {
	if (text !~ /^([0-9]+[smhdw])+$/)
		return -1
	sum = 0
	while (match(text, /^[0-9]+/)) {
		number = substr(text, 1, RLENGTH)
		sum += number * unit[substr(text, RLENGTH + 1, 1)]
		text = substr(text, RLENGTH + 2)
	}
	return sum
}

# The second of the day of "09:05" or "09:05:30"; -1: it is none.
function second_of_day(text,    part, n) {
	if (text !~ /^[0-9][0-9]?:[0-9][0-9](:[0-9][0-9])?$/)
		return -1
	n = split(text, part, ":")
	if (part[1] > 23 || part[2] > 59 || n == 3 && part[3] > 59)
		return -1
	return part[1] * 3600 + part[2] * 60 + (n == 3 ? part[3] : 0)
}

function length_until(    word, n, begin, end) {
	n = split(value["WHEN"], word, " ")
	begin = second_of_day(word[n])
	end = second_of_day(value["UNTIL"])
	if (end < 0)
		error(line["UNTIL"], "UNTIL is not a time of day such as 09:25: " value["UNTIL"])
	else if (begin < 0)
		error(line["UNTIL"], "UNTIL needs a WHEN that ends in one time of day; use FOR: " value["WHEN"])
	else if (begin == end)
		error(line["UNTIL"], "UNTIL is the time of WHEN: " value["UNTIL"])
	return (end - begin + 86400) % 86400
}

function bytes_of(text,    factor) {
	if (text !~ /^[0-9]+[KMGT]$/)
		return -1
	factor = 1024 ^ index("KMGT", substr(text, length(text)))
	return text * factor
}

# Split the command into words[1..n] as a shell does, without expanding anything. Returns n; -1:
# a quote is not closed.
function split_words(text, words,    n, i, c, quote, inside, word) {
	n = 0
	quote = ""
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		if (c == quote) {
			quote = ""
		} else if (quote == "" && (c == "\"" || c == "\047")) {
			quote = c
			inside = 1
		} else if (quote == "" && (c == " " || c == "\t")) {
			if (inside)
				words[++n] = word
			word = ""
			inside = 0
		} else {
			if (c == "\\" && (quote == "" || quote == "\"" && substr(text, i + 1, 1) ~ /["\\]/)) {
				c = substr(text, ++i, 1)
				if (c == "")
					return -1
			}
			word = word c
			inside = 1
		}
	}
	if (inside)
		words[++n] = word
	return quote == "" ? n : -1
}

# Whether a word is an option that the window sets, or would have the tool check its arguments only.
# Each tool has all of these options: what abbreviates one of them is that one, or ambiguous.
function is_of_window(word) {
	if (word == "--" || word ~ /^-d/)
		return 1
	sub(/=.*/, "", word)
	return length(word) > 2 &&
		(index("--duration", word) == 1 || index("--start-at", word) == 1 ||
		 index("--until", word) == 1 || index("--check-arguments", word) == 1)
}

function check_command(    i) {
	count = split_words(value["COMMAND"], words)
	if (count < 0)
		error(line["COMMAND"], "a quote or backslash has no end: " value["COMMAND"])
	else if (!(words[1] in is_tool))
		error(line["COMMAND"], "not a tool of plumb that traces for a duration: " words[1])
	for (i = 2; i <= count; i++)
		if (is_of_window(words[i]))
			error(line["COMMAND"], "not in a window, which begins by WHEN and ends by FOR or UNTIL: " words[i])
}

END {
	if (!NR) {
		print file ": is empty" >"/dev/stderr"
		exit 1
	}
	unit["s"] = 1
	unit["m"] = 60
	unit["h"] = 3600
	unit["d"] = 86400
	unit["w"] = 7 * 86400
	for (i = split("WHEN ZONE COMMAND", list, " "); i; i--)
		if (!(list[i] in line))
			error(FNR, list[i] " is missing")
	if (("FOR" in line) == ("UNTIL" in line))
		error(FNR, "FOR" in line ? "FOR and UNTIL exclude each other" : "FOR or UNTIL is missing")
	if (failed)
		exit 1

	seconds = "FOR" in line ? seconds_of(value["FOR"]) : length_until()
	if ("FOR" in line && (seconds < 1 || seconds > 86400))
		error(line["FOR"], "FOR is not a time from 1s to 24h, such as 20m or 1h30m: " value["FOR"])
	keep = seconds_of(value["KEEP"])
	if (keep < 3600 || keep > 3650 * 86400)
		error(line["KEEP"], "KEEP is not a time from 1h to 3650d, such as 30d: " value["KEEP"])
	bytes = bytes_of(value["KEEP_SIZE"])
	if (bytes < 1024 || bytes > 1024 ^ 5)
		error(line["KEEP_SIZE"], "KEEP_SIZE is not a size from 1K to 1024T, such as 500M: " value["KEEP_SIZE"])
	check_command()
	if (failed)
		exit 1

	print "when_line " line["WHEN"]
	print "when " value["WHEN"]
	print "zone_line " line["ZONE"]
	print "zone " value["ZONE"]
	print "command_line " line["COMMAND"]
	printf "seconds %d\n", seconds
	printf "keep_minutes %d\n", keep / 60
	printf "keep_bytes %.0f\n", bytes
	for (i = 1; i <= count; i++)
		print "word " words[i]
}
