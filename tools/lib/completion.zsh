# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# zsh completion for every tool of plumb, by asking the tool, as completion.bash does.
#
# "make install" puts a line before it that names the tools, and the function in fpath
# that compinit finds.  In the source tree:
#	. tools/lib/completion.zsh; compdef _plumb_tools build/bin/*(:t)

# Candidates for the value of OPTION that takes ARGUMENT; LISTED: "OPTION help" lists them.
# $tool is _plumb_tools's.
_plumb_value() {
	local option=$1 argument=$2 listed=$3
	local -aU found given

	if [[ $argument == *,... ]]; then
		compset -P '(\\|)!' # all but these
		given=(${(s:,:)${PREFIX%,*}})
		compset -P '*,' || given=()
	fi
	if [[ -n $listed ]]; then
		# Of arg:NAME only arg: can be completed.
		found=(${(f)"$($tool $option help 2>/dev/null </dev/null | tr -s '[:space:]' '[\n*]' | sed 's/[A-Z].*//')"})
	else
		case $argument in
		FILE'|'*) compadd -- ${(s:|:)argument#FILE\|}; _files; return ;;
		*'|'*) found=(${(s:|:)argument}) ;;
		PID*) found=(/proc/<->(N:t)) ;;
		TID*) found=(/proc/<->/task/<->(N:t)) ;;
		PATH* | DIR*) _files -/; return ;;
		FILE*) _files; return ;;
		NAME*) [[ $option != (-c|--comm) ]] || found=(${(f)"$(cat /proc/<->/comm 2>/dev/null)"}) ;;
		esac
	fi
	found=(${found:|given})
	((!$#found)) || compadd -- $found
}

_plumb_tools() {
	local tool=${~words[1]} line short long may argument text value listed
	local -a specs match mbegin mend
	local dashes=${words[(i)--]}

	if ((dashes < CURRENT)); then
		shift $dashes words
		((CURRENT -= dashes))
		_normal
		return
	fi
	whence -p -- $tool >/dev/null || return 1
	while IFS= read -r line; do
		# PID[,...] ends like an optional argument
		line=${line/\[,...\]/,...}
		[[ $line =~ '^ +(-([[:alnum:]]), +)?--([[:alnum:]-]+)(\[?)(=([^] ]+))?\]? +(.*)$' ]] || continue
		short=${match[2]:+-$match[2]} long=--$match[3] may=$match[4] argument=$match[6]
		listed=${(M)match[7]:#* help lists*}
		text=${match[7]//(#m)[]\\:[]/\\$MATCH}
		value=":$argument: _plumb_value $long ${(q)argument} ${listed:+1}"
		if [[ -z $argument ]]; then
			specs+=("${short:+($short $long)}$long""[$text]" ${short:+"($short $long)$short""[$text]"})
		elif [[ -n $may ]]; then
			specs+=("$long=-""[$text]:$value")
		elif [[ $argument == *,... ]]; then
			specs+=("*$long=""[$text]$value" ${short:+"*$short+[$text]$value"})
		else
			specs+=("${short:+($short $long)}$long=""[$text]$value" ${short:+"($short $long)$short+[$text]$value"})
		fi
	done < <(ARGP_HELP_FMT=rmargin=1000 $tool --help 2>/dev/null </dev/null)
	_arguments -s -S $specs
}

# Autoloaded, this file is a function's body: what it defines is called.
[[ ${funcstack[1]-} != _plumb-tools ]] || _plumb_tools "$@"
