# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash source-path=SCRIPTDIR
#
# For tests of wrong usage of $tool: source it first.
. "$(dirname "$0")/lib.sh"

# What is taken by mistake must not trace all of the machine.
harmless() {
	safe=()
	! has "$tool" --duration || safe+=(-d 0.1)
	! has "$tool" --pid || safe+=(-p "$idle")
	! has "$tool" --check-arguments || safe+=(--check-arguments)
}

# What tools share is parsed by the same code: the first tool that has an option gets all values, each
# other one the first; with CHECK_ALL (scripts/check.sh --all) all of them.
declare -A misused=() misused_by=()
had() { # OPTION VALUE
	local again=${misused[$1 $2]-}
	[[ -z ${CHECK_ALL-} && $again && ${misused_by[$1]} == "$tool" ]] && return
	misused[$1 $2]=$tool misused_by[$1]=$tool
	return 1
}

# OPTION VALUE, or OPTION=VALUE; then the message's word, if it is not the value
bad() {
	local option=${1%%=*} value=${2-${1#*=}} arguments=("$1")
	has "$tool" "$option" && ! had "$option" "$value" || return
	[[ $1 == *=* ]] || arguments+=("$value")
	run "$tool" "${safe[@]}" "${arguments[@]}"
	refused "$tool ${arguments[*]:0:40} is wrong usage" 2 "$tool" "$(long_of "$tool" "$option")" "${3-$value}"
}

# Words that are no options: WORD-IN-THE-MESSAGE VALUE ARG...
bad_argument() {
	has "$tool" "$1" && ! had "$1" "${*:3}" || return
	run "$tool" "${safe[@]}" "${@:3}"
	refused "$tool ${*:3} is wrong usage" 2 "$tool" "$1" "$2"
}

# More than one option is at fault: OPTION-OR-WORD-IN-THE-MESSAGE... : ARG...
bad_together() {
	local words=()
	while [[ $1 != : ]]; do
		[[ $1 != -* ]] || has "$tool" "$1" || return
		words+=("$1")
		shift
	done
	shift
	! had "${words[0]}" "$*" || return
	run "$tool" "${safe[@]}" "$@"
	refused "$tool $* is wrong usage" 2 "$tool" "${words[@]}"
}
