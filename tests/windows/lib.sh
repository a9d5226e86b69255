# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# A Debian system with systemd and plumb in $root, for tests of windows. Sourced after tests/lib.sh;
# $work is a directory of the test's.

# Make $root of the cached system, without what no test of windows runs, and install plumb. Skips the
# test where that is impossible.
stage_root() {
	local cached status=0
	: "${work:?}"
	root=$work/root
	((EUID == 0)) || { echo "1..0 # SKIP a chroot takes root"; exit 0; }
	unshare --mount true 2>/dev/null || { echo "1..0 # SKIP no mount namespace"; exit 0; }
	cached=$(scripts/chroots.sh bookworm-systemd 2>"$work/fetched") || status=$?
	((status != 77)) || { echo "1..0 # SKIP no Debian with systemd: $(tail -n 1 "$work/fetched")"; exit 0; }
	((status == 0)) || { cat "$work/fetched" >&2; exit 1; }
	mkdir "$root"
	tar -c -C "${cached#*$'\t'}" --exclude=./usr/{share/{perl,info},lib/x86_64-linux-gnu/{perl,gconv}} . | tar -x -C "$root"
	make -s install install-windows DESTDIR="$root" prefix=/usr >"$work/install" 2>&1 || { cat "$work/install" >&2; exit 1; }
	windows=$root/etc/plumb/windows
	mkdir -p "$windows"
}

# Run a command in $root, with mounts that end with it.
inside() {
	# shellcheck disable=SC2016 # for that shell
	unshare --mount sh -euc '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --bind /dev/null "$root/dev/null"
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin LC_ALL=C "$@"' sh "$root" "$@"
}

# window NAME LINE... - its configuration
window() {
	printf '%s\n' "${@:2}" >"$windows/$1.conf"
}

# generate FOLDER - have the generator fill that folder of $root; its messages are in $work/generated
generate() {
	rm -rf "${root:?}$1"
	mkdir -p "$root$1"
	inside /usr/lib/systemd/system-generators/plumb-window-generator "$1" "$1" "$1" >"$work/generated" 2>&1
}
