# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# For tests of audit records and of the policy: source it first. Goes on in a mount namespace
# of its own, whose /etc, /dev and /etc/plumb are not the host's.
#
#	records FILE EVENT       its records of that kind
#	trace NAME ARG...        starts a tool, its records in $log; waits until it traces; its pid in $tool
#	ended CLAIM FILTER       waits for it; $log is whole and valid, its last record fulfils the filter

[[ ${AUDIT_UNSHARED-} ]] || AUDIT_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }
/usr/bin/python3 -c 'import jsonschema' 2>/dev/null || { echo "1..0 # SKIP there is no jsonschema for Python"; exit 0; }

bin=$PWD/${PLUMB_BIN:-build/bin}
schema=$bin/../plumb-audit-1.schema.json
export PLUMB_CACHE=
work=$(mktemp -d)
log=$work/log tool='' status='' number=0
started=()
# shellcheck disable=SC2317 # the trap calls it
clean_up() {
	((${#started[@]} == 0)) || kill -9 "${started[@]}" 2>/dev/null
	wait 2>/dev/null
	cd /
	umount -l /etc /dev "$work/own" 2>/dev/null
	rm -rf --one-file-system "$work"
}
trap clean_up EXIT
chmod 755 "$work"

# A /etc that is the host's but for what is written, and a /dev without a daemon's socket.
# shellcheck disable=SC2015 # all of it, or not
mkdir "$work/own" && mount -t tmpfs none "$work/own" && mkdir "$work/own"/{etc,etc-work,dev} &&
	mount -t overlay -o "lowerdir=/etc,upperdir=$work/own/etc,workdir=$work/own/etc-work" none /etc &&
	cp -a /dev/{null,zero,full,random,urandom,tty,ptmx} "$work/own/dev" && mkdir "$work/own/dev/pts" &&
	mount --bind /dev/pts "$work/own/dev/pts" && ln -s /proc/self/fd "$work/own/dev/fd" &&
	mount --rbind "$work/own/dev" /dev || { echo "Bail out! no namespace of our own"; exit 1; }
[[ -e /etc/plumb ]] && { echo "1..0 # SKIP this host has a policy"; exit 0; }

records() {
	jq -c --arg event "$2" 'select(.event == $event)' "$1"
}

await() {
	local i
	for ((i = 0; i < 1500; i++)); do
		grep -q "$2" "$1" 2>/dev/null && return
		sleep 0.02
	done
	tap_result 1 "$1 has '$2' within 30 s" <<<"$(cat "$1")"
}

trace() {
	number=$((number + 1))
	log=$work/log.$number
	evidence "$log" "$work/err"
	: >"$work/err" # a file that waits is the last one's
	"$bin/$1" --no-calibrate --audit="$log" "${@:2}" </dev/null >"$work/out" 2>"$work/err" &
	tool=$!
	started+=("$tool")
	await "$work/err" 'tracing …'
}

# The watcher of a tool: a child that is not the command.
watcher_of() {
	pgrep -P "$1" -x plumb-audit
}

# Has the process ended, or does it within 10 s? (Who reaps it is not ours.)
gone() {
	local i
	[[ $1 ]] || return
	for ((i = 0; i < 500; i++)); do
		[[ $(ps -o stat= -p "$1") == [A-Y]* ]] || return 0
		sleep 0.02
	done
	return 1
}

# Is each line a record, and as the schema says?
valid() {
	/usr/bin/python3 - "$schema" "$1" <<-'END'
	import json, sys
	from jsonschema import Draft202012Validator
	validator = Draft202012Validator(json.load(open(sys.argv[1])))
	lines = open(sys.argv[2], encoding="ascii").read().splitlines()
	for line in lines:
	    validator.validate(json.loads(line))
	sys.exit(not lines)
	END
}

ended() {
	status=0
	wait "$tool" || status=$?
	claim "$1: records are valid" valid "$log" || return
	is "$1: begin, attach, end" "$(jq -r .event "$log" | paste -sd ' ')" "begin attach end"
	holds "$1" "$log" "$2"
}
