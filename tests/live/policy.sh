# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash source-path=SCRIPTDIR
#
# For tests of /etc/plumb/policy: source it first. There is none yet, but its folder.
#
#	run TOOL ARG...    its end in $status; nothing is traced but what it is asked for
. "$(dirname "$0")/audit.sh"

mkdir /etc/plumb
policy=/etc/plumb/policy log=$work/policy.log
evidence "$log" "$work/err" "$policy"

run() {
	status=0
	timeout -k 5 60 "$bin/$1" "${@:2}" </dev/null >"$work/out" 2>"$work/err" || status=$?
}
