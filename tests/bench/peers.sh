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
	local dir=$work/apt into=$work/new packages tool
	mkdir "$dir" "$dir/deb" "$dir/tree" "$into"
	chmod 755 "$work" "$dir"
	chmod 777 "$dir/deb" # APT downloads as a user of its own where root calls it
	private_apt "$dir" "$suite" amd64 ""
	say "fetching bpftrace and libbpf-tools from $suite"
	apt-get -qq -c "$dir/apt.conf" update >"$dir/log" 2>&1 || die "$(tail -n 1 "$dir/log")"
	# With nothing installed this names all that they depend on.
	apt-get -qq -c "$dir/apt.conf" -o Debug::NoLocking=1 --no-install-recommends --simulate \
		install bpftrace libbpf-tools >"$dir/plan" 2>"$dir/log" || die "$(tail -n 1 "$dir/log")"
	mapfile -t packages < <(awk '/^Inst/ { print $2 }' "$dir/plan")
	(cd "$dir/deb" && apt-get -qq -c "$dir/apt.conf" download "${packages[@]}") >"$dir/log" 2>&1 ||
		die "$(tail -n 1 "$dir/log")"
	for package in "$dir"/deb/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$dir/tree"
	done
	[[ -e $dir/tree/lib64 ]] || ln -s usr/lib64 "$dir/tree/lib64"
	pick "$dir/tree" "$dir/tree/usr/bin/bpftrace" bpftrace
	for tool in "${tools[@]}"; do
		# Named -libbpf from trixie on.
		pick "$dir/tree" "$(find "$dir/tree/usr/sbin" -name "$tool" -o -name "$tool-libbpf")" "$tool"
	done
	install -D -m 644 "$dir/tree/usr/sbin/runqlat.bt" "$into/usr/share/bpftrace/runqlat.bt"
	sed -nE 's/^Inst (bpftrace|libbpf-tools) \(([^ ]+) .*/\1 \2/p' "$dir/plan" >"$into/peers"
	rm -rf "${cache:?}/$suite"
	mv "$into" "$cache/$suite"
}

tools=(funclatency offcputime profile runqlat)
suite=${1-}
if (( $# != 1 )) || [[ ! $suite =~ ^[a-z-]+$ ]]; then
	say "usage: $program SUITE"
	exit 2
fi
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plumb/peers
export LC_ALL=C # APT's messages are read
if [[ ! -s $cache/$suite/peers || ! -x $cache/$suite/usr/bin/${tools[-1]} ]]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/.new.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	fetch
fi
printf '%s\n' "$cache/$suite"
