#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Provide minimal systems of Debian releases, to build in or to boot, without installing anything.

set -euo pipefail

readonly program=${0##*/}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here top=${here%/*}
# shellcheck source=lib/apt.sh
. "$here/lib/apt.sh"
# shellcheck source=lib/packages.sh
. "$here/lib/packages.sh"
readonly all=(trixie sid bookworm-systemd trixie-programs bookworm-i386 trixie-i386)

usage() {
	cat <<-END
	Usage: $program [--refresh] [SUITE...] [-- COMMAND [ARG...]]

	For each SUITE (default: ${all[*]}) unpack what building plumb
	needs into a directory and print SUITE and that directory, separated by a tab; or run
	COMMAND there. Nothing is installed: the packages come from this machine's own APT
	sources, with the suite's name replaced. What is cached is not fetched again.
	SUITE-systemd cannot build; it has systemd, for vm.sh --systemd to boot. Nor can
	SUITE-programs and SUITE-i386, of 32 bits; a test traces their programs.

	COMMAND runs as root in a mount namespace of its own: this source tree is /src,
	read-only and its working directory; /build is empty; both disappear with it.

	  --refresh     fetch again what is cached
	  -h, --help    show this help

	Cache: \$PLUMB_CHROOT_CACHE, else \$XDG_CACHE_HOME/plumb/chroots, else
	~/.cache/plumb/chroots: about 750 MB a suite, 150 MB with systemd or programs.

	Exit status: COMMAND's, else 0; but 1 could not start; 2 wrong usage; 77 a suite
	could not be fetched (no network, or the archive no longer has it).

	Example: $program sid -- make B=/build CC=clang all
	END
}

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { say "$@"; exit 1; }
misuse() { say "$* (try --help)"; exit 2; }

# The suites that hold the release of $1.
suites_of() {
	set -- "${1%-*}"
	case $1 in
	sid) echo sid ;;
	*) echo "$1 $1-security" ;;
	esac
}

# The packages of $1, in $wanted.
choose() {
	case $1 in
	*-systemd) wanted=("${packages_systemd[@]}") ;;
	*-programs | *-i386) wanted=("${packages_programs[@]}") ;;
	*) wanted=("${packages_build[@]}" "${packages_chroot[@]}") ;;
	esac
}

# Unpack what is needed of release $1 into directory $2. No maintainer script runs, so
# that what they would link is linked here.
fetch() {
	local release=$1 root=$2 arch dir package one
	case $release in
	*-i386) arch=i386 ;;
	*) arch=$(dpkg --print-architecture) ;;
	esac
	dir=$(mktemp -d "$work/apt.XXXXXX")
	chmod 755 "$work" "$dir"
	private_apt "$dir" "$(suites_of "$release")" "$arch" ""
	say "$release: fetching"
	apt-get -q -c "$dir/apt.conf" update >"$dir/log" 2>&1 || :
	if ! apt-get -q -c "$dir/apt.conf" install --yes --download-only --no-install-recommends \
		'?essential' "${wanted[@]}" >>"$dir/log" 2>&1; then
		say "$release: $(grep -m 1 -E 'Failed to fetch|^E: ' "$dir/log" || tail -n 1 "$dir/log")"
		return 77
	fi
	mkdir -p "$root"/{build,dev,proc,src,tmp,usr/{bin,lib,lib64,sbin}}
	ln -s usr/{bin,lib,lib64,sbin} "$root"
	for package in "$dir"/cache/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink \
			--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
			--exclude='./dev/*'
	done
	: >"$root/dev/null"
	ln -sf mawk "$root/usr/bin/awk"
	for one in passwd group; do cp "$root/usr/share/base-passwd/$one.master" "$root/etc/$one"; done
	rm -rf "$dir"
	printf '%s\n' "${wanted[*]}" >"$root/.packages"
}

# Have release $1 in the cache.
provide() {
	local root=$cache/$1
	choose "$1"
	[[ -n $refresh || $(cat "$root/.packages" 2>/dev/null) != "${wanted[*]}" ]] || return 0
	prepare
	# Another run may have fetched it while this one waited for the lock.
	[[ -n $refresh || $(cat "$root/.packages" 2>/dev/null) != "${wanted[*]}" ]] || return 0
	rm -rf "$cache/.new"
	fetch "$1" "$cache/.new" || return
	rm -rf "$root"
	mv "$cache/.new" "$root"
}

prepare() {
	prepare_cache "chroots are made from a Debian archive" apt-get apt-config dpkg dpkg-deb
}

# The mounts are in a namespace that ends with the command.
inside() {
	local root=$cache/$1
	shift
	# shellcheck disable=SC2016 # for that shell
	unshare --mount sh -euc '
		root=$1 top=$2
		shift 2
		mount -t proc proc "$root/proc"
		mount --bind /dev/null "$root/dev/null"
		mount --bind "$top" "$root/src"
		mount -o remount,bind,ro "$root/src"
		mount -t tmpfs tmpfs "$root/build"
		mount -t tmpfs tmpfs "$root/tmp"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/tmp LC_ALL=C.UTF-8 \
			sh -c "cd /src && exec \"\$@\"" sh "$@"' sh "$root" "$top" "$@"
}

refresh="" work=""
suites=() command=()
while (($#)); do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--refresh) refresh=1 ;;
	--) shift; command=("$@"); (($#)) || misuse "no command after --"; break ;;
	-*) misuse "unknown option: $1" ;;
	*) [[ " ${all[*]} " == *" $1 "* ]] || misuse "unknown suite: $1 (known: ${all[*]})"; suites+=("$1") ;;
	esac
	shift
done
((${#suites[@]})) || suites=("${all[@]}")
((EUID == 0)) || die "needs root: chroot and mounts"
cache=${PLUMB_CHROOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plumb/chroots}
wanted=()
export LC_ALL=C # APT's messages are read

worst=0
for one in "${suites[@]}"; do
	status=0
	provide "$one" || status=$?
	if ((status == 0 && ${#command[@]})); then
		inside "$one" "${command[@]}" || status=$?
	elif ((status == 0)); then
		printf '%s\t%s\n' "$one" "$cache/$one"
	fi
	((status == 0 || worst != 0 && status == 77)) || worst=$status
done
exit "$worst"
