#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Completion asks the tool, and finds what it says.
. "$(dirname "$0")/lib.sh"
PATH=$bin:$PATH
start_idle

# Completes LINE as bash would, "=" and ":" being words; what it offers, sorted.
offers() {
	local line=$1 spaced=${1//=/ = }
	spaced=${spaced//:/ : }
	COMP_LINE=$line COMP_POINT=${#line}
	read -ra COMP_WORDS <<<"$spaced"
	[[ $line != *[[:space:]=:] ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	line=${line%% -*}
	_plumb "${line##* }" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]-}"
	((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}" | sort | paste -s -d ' '
}

values() {
	# arg:NAME is not a value, but arg: begins some.
	"$bin/$tool" "$@" help | tr -s '[:space:]' '[\n*]' | sed 's/[A-Z].*//'
}

sorted() {
	sort | paste -s -d ' '
}

# shellcheck source=../../tools/lib/completion.bash
. "$cli_top/tools/lib/completion.bash"
for tool in "${tools[@]}"; do
	like "$tool is completed in the source tree" "$(complete -p "$tool" 2>/dev/null)" '-F _plumb'
done

# An option is completed in the same way whichever tool has it: once.
declare -A shown=()
once() {
	has "$tool" "$1" && [[ ${CHECK_ALL-} || -z ${shown[$1]-} ]] && shown[$1]=$tool
}

for tool in "${tools[@]}"; do
	# As it is installed.
	cp "$cli_top/tools/lib/completion.bash" "$work/$tool"
	# shellcheck disable=SC1090 # the same file
	is "$tool is completed where it is installed" \
		"$(complete -r; . "$work/$tool"; complete -p)" "complete -F _plumb $tool"

	is "$tool --hel is completed" "$(offers "$tool --hel")" --help
	is "$tool by its path is completed" "$(offers "$bin/$tool --hel")" --help
	is "$tool after an assignment is completed" "$(offers "LANG=C $tool --hel")" --help
	is "$tool: nothing is made up" "$(offers "$tool --nonsense")$(offers "$tool -Z")$(offers "$tool --nonsense=")" ""
	if once --pid; then
		is "$tool --pid takes a pid" "$(offers "$tool --pid $idle")" "$idle"
		is "$tool -p takes a pid" "$(offers "$tool -p $idle")" "$idle"
		is "$tool --pid= takes a pid" "$(offers "$tool --pid=$idle")" "$idle"
		is "$tool -p, attached, takes a pid" "$(offers "$tool -p$idle")" "-p$idle"
		is "$tool -p takes another pid" "$(offers "$tool -p 1,$idle")" "1,$idle"
		is "$tool -p, after others, takes a pid" "$(offers "$tool -d 3 -jp $idle")" "$idle"
	fi
	if once --tid; then
		is "$tool -t takes a tid" "$(offers "$tool -t $idle")" "$idle"
	fi
	if has "$tool" --by; then
		is "$tool -b takes a key" "$(offers "$tool -b ")" "$(values -b | sorted)"
	fi
	if once --by; then
		first=$(values -b | head -n 1)
		is "$tool -b takes another key" "$(offers "$tool -b $first,")" \
			"$(values -b | grep -vx "$first" | sed "s/^/$first,/" | sorted)"
		is "$tool --by= takes keys" "$(offers "$tool --by=$first,")" "$(offers "$tool -b $first,")"
	fi
	if has "$tool" --syscall; then
		is "$tool -s takes a call" "$(offers "$tool -s send")" "$(values -s | grep ^send | sorted)"
	fi
	if once --syscall; then
		is "$tool -s takes another call" "$(offers "$tool -s read,nanosl")" "read,nanosleep"
		is "$tool -s takes a call that is not traced" "$(offers "$tool -s !nanosl")" "!nanosleep"
		is "... escaped, in quotes" "$(offers "$tool -s \\!nanosl") $(offers "$tool -s '!nanosl")" '\!nanosleep !nanosleep'
		is "... and another one, not the same again" "$(offers "$tool -s !read,nanosl")$(offers "$tool -s !nanosleep,nanosl")" \
			"!read,nanosleep"
		# bash replaces what follows the colon only.
		is "$tool -s takes a call of 32 bits" "$(offers "$tool -s ia32:send")" \
			"$(values -s | sed -n 's/^ia32:send/send/p' | sorted)"
	fi
	if once --unit; then
		is "$tool -u takes a unit" "$(offers "$tool -u ")" "auto ms ns s us"
		is "$tool --unit= takes a unit" "$(offers "$tool --unit=m")" "ms"
	fi
	if once --audit; then
		: >"$work/au"
		is "$tool --audit= takes a file" "$(offers "$tool --audit=$work/a")" "$work/au"
		is "... or what is no file" "$(cd "$work" && offers "$tool --audit=")$(cd "$work" && offers "$tool --audit=a")" \
			"$(cd "$work" && { ls -A; printf '%s\n' audit syslog; } | sorted)$(printf '%s\n' au audit | sorted)"
	fi
	if once --cgroup; then
		mkdir -p "$work/one/two"
		is "$tool -g takes a directory" "$(offers "$tool -g $work/o")" "$work/one/"
		is "$tool -g takes another directory" "$(offers "$tool -g /,$work/one/t")" "/,$work/one/two/"
	fi
	if once --comm; then
		like "$tool -c takes a name" "$(offers "$tool -c slee")" '\bsleep\b'
	fi
	if once --duration; then
		is "$tool -d takes what cannot be guessed" "$(offers "$tool -d ")" ""
	fi
	if once COMMAND; then
		is "$tool -- takes a command" "$(offers "$tool -- setpri")" setpriv
		is "$tool -- COMMAND takes a file" "$(offers "$tool -- ls $work/on")" "$work/one"
		is "$tool -- COMMAND has options of its own" "$(offers "$tool -- ls --hel")" ""
	fi
done
is "what is not there is not asked" "$(offers "nonexistent-tool --he")" ""
done_trying
