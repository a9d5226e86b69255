# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# bash completion for every tool of plumb, by asking the tool: its --help names
# the options and what they take, "-b help" and the like list values.
#
# Installed once for each tool, under the tool's name, as bash-completion loads
# it.  Without bash-completion, or in the source tree:
#	source tools/lib/completion.bash

# TOOL's options, a line each: short name, long name, argument, "[" if that may
# be left out, text; separated by tabs, "-" where there is none.
_plumb_options() {
	local line re='^ +(-([[:alnum:]]), +)?--([[:alnum:]-]+)(\[?)(=([^] ]+))?\]? +(.*)$'

	while IFS= read -r line; do
		# PID[,...] ends like an optional argument
		line=${line/\[,...\]/,...}
		[[ $line =~ $re ]] || continue
		printf '%s\t%s\t%s\t%s\t%s\n' "${BASH_REMATCH[2]:+-${BASH_REMATCH[2]}}" "--${BASH_REMATCH[3]}" \
			"${BASH_REMATCH[6]:--}" "${BASH_REMATCH[4]:--}" "${BASH_REMATCH[7]}"
	done < <(ARGP_HELP_FMT=rmargin=1000 "$1" --help 2>/dev/null </dev/null) | sed 's/^\t/-\t/'
}

# All that OPTION of $tool may be given, a line each; only what begins like LAST
# where there is too much: OPTION LAST
_plumb_values() {
	local option=$1 last=$2 takes=${argument[$1]} file name

	if [[ ${text[$option]} == *" help lists"* ]]; then
		# Of arg:NAME only arg: can be completed.
		"$tool" "$option" help 2>/dev/null </dev/null | tr -s '[:space:]' '[\n*]' | sed 's/[A-Z].*//'
		return
	fi
	case $takes in
	FILE'|'*)
		takes=${takes#FILE|}
		compgen -f -- "$last"
		printf '%s\n' "${takes//|/$'\n'}"
		;;
	*'|'*) printf '%s\n' "${takes//|/$'\n'}" ;;
	PID*) printf '%s\n' /proc/[0-9]* | sed 's,.*/,,' ;;
	TID*) printf '%s\n' /proc/[0-9]*/task/[0-9]* | sed 's,.*/,,' ;;
	PATH* | DIR*) compgen -d -S / -- "$last" ;;
	FILE*) compgen -f -- "$last" ;;
	NAME*)
		[[ $option == -c || $option == --comm ]] || return
		for file in /proc/[0-9]*/comm; do
			# It may be gone by now.
			{ IFS= read -r name <"$file"; } 2>/dev/null && printf '%q\n' "$name"
		done
		;;
	esac
}

# What can be taken for VALUE; it goes behind BEFORE: OPTION VALUE BEFORE
_plumb_complete_value() {
	local option=$1 last=$2 before=$3 given candidate

	if [[ ${argument[$option]} == *,... ]]; then
		compopt -o nospace 2>/dev/null
		# All but these.  bash keeps an opening quote itself.
		if [[ $last == [\'\"]!* ]]; then
			before+=! last=${last:2}
		elif [[ $last == !* || $last == \\!* ]]; then
			before+=${last%%!*}! last=${last#*!}
		fi
		[[ $last == *,* ]] && before+=${last%,*}, last=${last##*,}
	fi
	[[ ${argument[$option]} == PATH* ]] && compopt -o nospace 2>/dev/null
	given=,${before##*[=!]}
	while IFS= read -r candidate; do
		[[ -n $candidate && $candidate == "$last"* ]] || continue
		[[ $given == *,"$candidate",* ]] || COMPREPLY+=("$before$candidate")
	done < <(_plumb_values "$option" "$last")
}

# Of the command after "--", whose place in COMP_WORDS is $1.
_plumb_complete_command() {
	if declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif ((COMP_CWORD == $1)); then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}" | sort -u)
	else
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
	fi
}

# Which option does the word before the last wait to be given a value of?  Into
# $pending; and $after_dashes is the command's place in COMP_WORDS.
_plumb_scan() {
	local i j word

	for ((i = 1; i < ${#words[@]} - 1; i++)); do
		word=${words[i]}
		if [[ -n $pending ]]; then
			pending=
		elif [[ $word == -- ]]; then
			for ((j = 1; j < COMP_CWORD; j++)); do
				[[ ${COMP_WORDS[j]} != -- ]] || { after_dashes=$((j + 1)); return; }
			done
		elif [[ $word == --* ]]; then
			[[ ${optional[$word]} != - ]] || pending=$word
		elif [[ $word == -?* ]]; then
			for ((j = 1; j < ${#word}; j++)); do
				[[ ${optional[-${word:j:1}]} == - ]] || continue
				((j + 1 < ${#word})) || pending=-${word:j:1}
				break
			done
		fi
	done
}

_plumb() {
	local tool=${1/#\~\//$HOME/} line=${COMP_LINE:0:COMP_POINT} cur pending='' after_dashes=''
	local short long arg opt about word breaks words i
	# By option: what it takes, "-" if it must be given or "[" if it need not, its text.
	local -A argument=() optional=() text=()

	COMPREPLY=()
	type -P -- "$tool" >/dev/null || return
	# Not COMP_WORDS, which "=" and ":" have cut to pieces.
	read -ra words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=('')
	((${#words[@]} > 1)) || return
	cur=${words[-1]}

	while IFS=$'\t' read -r short long arg opt about; do
		for word in "$short" "$long"; do
			argument[$word]=$arg text[$word]=$about
			[[ $arg == - ]] || optional[$word]=$opt
		done
	done < <(_plumb_options "$tool")

	_plumb_scan
	if [[ -n $after_dashes ]]; then
		_plumb_complete_command "$after_dashes"
		return
	elif [[ -n $pending ]]; then
		_plumb_complete_value "$pending" "$cur" ''
	elif [[ $cur == --*=* ]]; then
		[[ -z ${argument[${cur%%=*}]} ]] || _plumb_complete_value "${cur%%=*}" "${cur#*=}" "${cur%%=*}="
	elif [[ $cur == -[!-]?* ]]; then
		[[ ${argument[${cur:0:2}]:--} == - ]] || _plumb_complete_value "${cur:0:2}" "${cur:2}" "${cur:0:2}"
	elif [[ -z $cur || $cur == -* ]]; then
		for word in "${!argument[@]}"; do
			[[ $word != - && $word == "$cur"* ]] || continue
			[[ $word != --* || ${optional[$word]} != - ]] || word+='='
			COMPREPLY+=("$word")
		done
		[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
	fi
	# bash replaces only what follows the last of its word breaks.
	for breaks in = :; do
		[[ $COMP_WORDBREAKS == *$breaks* && $cur == *$breaks* ]] || continue
		for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do
			COMPREPLY[i]=${COMPREPLY[i]#"${cur%"$breaks"*}$breaks"}
		done
		cur=${cur##*"$breaks"}
	done
}

# Under which name was this read?
case ${BASH_SOURCE[0]##*/} in
completion.bash)
	for _plumb_tool in "$(dirname "${BASH_SOURCE[0]}")"/../*/; do
		_plumb_tool=${_plumb_tool%/} _plumb_tool=${_plumb_tool##*/}
		[[ $_plumb_tool == lib ]] || complete -F _plumb "$_plumb_tool"
	done
	unset _plumb_tool
	;;
*)
	_plumb_tool=${BASH_SOURCE[0]##*/}
	complete -F _plumb "${_plumb_tool%.bash}"
	unset _plumb_tool
	;;
esac
