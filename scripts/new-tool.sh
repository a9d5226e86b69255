#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Makes the folder of a new tool from that of another: one that works, to be changed.

set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
	cat <<-END
	Usage: ${0##*/} NAME [TOOL]

	Make tools/NAME of the files in tools/TOOL (syscall-count), with the new name. No other file
	has to be touched: make builds it.
	END
}

case ${1-} in
-h | --help) usage; exit 0 ;;
'' | -*) usage >&2; exit 2 ;;
esac
name=$1 from=${2-syscall-count}
[[ $# -le 2 && $name =~ ^[a-z][a-z0-9]*(-[a-z0-9]+)*$ ]] || {
	echo "${0##*/}: a name of small letters, digits and hyphens: $*" >&2
	exit 2
}
[[ -e tools/$from/$from.bpf.c ]] || { echo "${0##*/}: no such tool: $from" >&2; exit 2; }
[[ ! -e tools/$name ]] || { echo "${0##*/}: tools/$name is there already" >&2; exit 1; }

for file in $(cd "tools/$from" && find . -type f -printf '%P\n'); do
	to=tools/$name/${file//$from/$name}
	mkdir -p "${to%/*}"
	# The title of the manual page is as wide as the lines around it.
	sed "s/$from/$name/g; s/${from//-/_}/${name//-/_}/g" "tools/$from/$file" |
		sed -e ':all' -e 'N; $!b all' -e "s/\n=*\n$name\n=*\n/\n${name//?/=}\n$name\n${name//?/=}\n/" \
			>"$to"
done
echo "tools/$name is made of tools/$from; next: make build/bin/$name"
