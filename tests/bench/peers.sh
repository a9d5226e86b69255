#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Fetch bpftrace and BCC's libbpf-tools of a Debian suite for an emulated machine,
# without installing anything: print the directory for vm.sh's --root, which holds
# bpftrace and some of libbpf-tools in /usr/bin, the libraries that they need, bpftrace's
# scripts, and /peers, a line NAME VERSION for each.

set -euo pipefail

readonly program=${0##*/}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=../../scripts/lib/apt.sh
. "$here/../../scripts/lib/apt.sh"

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { say "$@"; exit 1; }

# The program $2, as $3, and the libraries that the loader of the unpacked tree $1 finds
# for it, to $into.
pick() {
	local loader=$1/lib64/ld-linux-x86-64.so.2 libs=usr/lib/x86_64-linux-gnu file
	install -D "$2" "$into/usr/bin/$3"
	install -D "$loader" "$into/lib64/${loader##*/}"
	"$loader" --library-path "$1/lib/x86_64-linux-gnu:$1/$libs" --list "$2" |
		awk '/=> \// { print $3 }' | while read -r file; do
			install -D "$file" "$into/$libs/${file##*/}"
		done
}

fetch() {
	local dir=$work/apt into=$work/new tool
	mkdir "$dir" "$into"
	chmod 755 "$work"
	say "fetching bpftrace and libbpf-tools from $suite"
	unpack_all "$dir" "$suite" bpftrace libbpf-tools
	[[ -e $dir/tree/lib64 ]] || ln -s usr/lib64 "$dir/tree/lib64"
	pick "$dir/tree" "$dir/tree/usr/bin/bpftrace" bpftrace
	for tool in "${tools[@]}"; do
		# Named -libbpf from trixie on.
		pick "$dir/tree" "$(find "$dir/tree/usr/sbin" -name "$tool" -o -name "$tool-libbpf")" "$tool"
	done
	for tool in "${scripts[@]}"; do
		install -D -m 644 "$dir/tree/usr/sbin/$tool" "$into/usr/share/bpftrace/$tool"
	done
	sed -nE 's/^Inst (bpftrace|libbpf-tools) \(([^ ]+) .*/\1 \2/p' "$dir/plan" >"$into/peers"
	rm -rf "${cache:?}/$suite"
	mv "$into" "$cache/$suite"
}

# An earlier version of this script fetched fewer.
is_complete() {
	local name
	for name in peers "${tools[@]/#/usr/bin/}" "${scripts[@]/#/usr/share/bpftrace/}"; do
		[[ -s $1/$name ]] || return
	done
}

tools=(biolatency biosnoop cachestat drsnoop execsnoop exitsnoop fsdist fsslower funclatency futexctn hardirqs klockstat offcputime
	profile runqlat softirqs syscount tcpconnlat)
scripts=(biolatency.bt runqlat.bt tcpretrans.bt)
suite=${1-}
if (( $# != 1 )) || [[ ! $suite =~ ^[a-z-]+$ ]]; then
	say "usage: $program SUITE"
	exit 2
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plumb/peers
export LC_ALL=C # APT's messages are read
if ! is_complete "$cache/$suite"; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/.new.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	fetch
fi
printf '%s\n' "$cache/$suite"
