#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Fetch PostgreSQL, redis and nginx of this machine's Debian release, with their clients, without
# installing anything, so that no service of the system starts or changes: print the directory
# that holds them, for the bench and tests/live/servers.t. /lib in it has the libraries that they
# need besides libc, /servers a line NAME VERSION for each.

set -euo pipefail

readonly program=${0##*/}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=../../scripts/lib/apt.sh
. "$here/../../scripts/lib/apt.sh"

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { say "$@"; exit 1; }

fetch() {
	local dir=$work/apt into=$work/new
	mkdir "$dir" "$into" "$into/lib"
	chmod 755 "$work"
	say "fetching PostgreSQL, redis and nginx from $suite"
	unpack_all "$dir" "$suite" postgresql redis-server nginx
	# libc and its loader are the machine's, and nothing is compiled at run time.
	dpkg-deb --fsys-tarfile "$dir"/deb/libc6_*.deb | tar -t | grep '\.so[.0-9]*$' | (cd "$dir/tree" && xargs rm -f)
	rm -f "$dir"/tree/usr/lib/*/libLLVM*
	find "$dir/tree/lib" "$dir/tree/usr/lib" -maxdepth 2 -name 'lib*.so.*' -exec mv {} "$into/lib" \;
	# A server of PostgreSQL finds its files by the way from its program to them.
	mkdir -p "$into/usr/bin" "$into/usr/lib" "$into/usr/share"
	mv "$dir/tree/usr/lib/postgresql" "$into/usr/lib"
	mv "$dir/tree/usr/share/postgresql" "$into/usr/share"
	cp -L "$dir/tree/usr/bin/redis-server" "$dir/tree/usr/bin/redis-benchmark" "$dir/tree/usr/sbin/nginx" "$into/usr/bin"
	sed -nE 's/^Inst (postgresql-[0-9]+|redis-server|nginx) \(([^ ]+) .*/\1 \2/p' "$dir/plan" >"$into/servers"
	rm -rf "${cache:?}/$suite"
	mv "$into" "$cache/$suite"
}

suite=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ $suite =~ ^[a-z]+$ ]] || die "this machine is no release of Debian"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/plumb/servers
export LC_ALL=C # APT's messages are read
if ! grep -qs nginx "$cache/$suite/servers"; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/.new.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	fetch
fi
printf '%s\n' "$cache/$suite"
