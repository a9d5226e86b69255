# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Real systems of Debian's releases, with dpkg's database, to make and to install packages in: from this
# machine's own APT sources, cached. Sourced after lib.sh.

# shellcheck source=../lib/apt.sh
. "$package_here/../lib/apt.sh"

chroot_cache=${PLUMB_CHROOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plumb/packages}

# The mirrors of release $1, as files in directory $2.
chroot_sources() {
	local security=""
	[[ $1 == sid ]] || security=$1-security
	derive_sources list "$1" "$security" >"$2/derived.list"
	derive_sources sources "$1" "$security" >"$2/derived.sources"
}

# Have the system $1 of release $2 with the packages $3..., beside the essential ones and apt, in
# $chroot_cache/$1; with a directory as $build_dependencies, what its debian/control needs, too.
# 77: it cannot be fetched.
chroot_provide() {
	local name=$1 release=$2 root=$chroot_cache/$1 wanted dir include lock
	shift 2
	wanted="$*${build_dependencies:+ $(sha256sum <"$build_dependencies/debian/control")}"
	command -v mmdebstrap >/dev/null || die "mmdebstrap is missing"
	mkdir -p "$chroot_cache"
	exec {lock}>"$chroot_cache/.lock-$name"
	flock "$lock"
	# Another run may have made it while this one waited for the lock.
	[[ $(cat "$root/.packages" 2>/dev/null) != "$wanted" ]] || return 0
	# What an interrupted run left mounted there is the machine's own: never into that.
	! grep -qF " $root/" /proc/self/mounts || die "mounts are left in $root: unmount them"
	rm -rf --one-file-system "$root"
	dir=$(mktemp -d)
	chroot_sources "$release" "$dir"
	find "$dir" -empty -type f -delete
	include=$*
	say "$name: fetching"
	# In a mount namespace of its own: its mounts end with it, however it ends.
	if ! PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount mmdebstrap --mode=root --variant=apt ${include:+--include="${include// /,}"} \
		--dpkgopt=force-unsafe-io --aptopt='Acquire::Check-Valid-Until "false"' \
		${build_dependencies:+--customize-hook="mkdir -p \"\$1/source/debian\"; cp '$build_dependencies/debian/control' \"\$1/source/debian\"; \
			chroot \"\$1\" sh -c 'cd /source && apt-get -y -q --no-install-recommends build-dep . ; s=\$?; rm -rf /source; exit \$s'"} \
		--customize-hook='rm "$1"/etc/dpkg/dpkg.cfg.d/*mmdebstrap*' \
		"$release" "$root" "$dir"/derived.* >"$dir/log" 2>&1; then
		say "$name: $(grep -m 1 -E 'Failed to fetch|^E: ' "$dir/log" || tail -n 1 "$dir/log")"
		cp "$dir/log" "$chroot_cache/$name.log"
		rm -rf --one-file-system "$dir" "$root"
		return 77
	fi
	rm -rf "$dir"
	echo "$wanted" >"$root/.packages"
}

# The system $1, with directory $2 as /packages, for the command $3...; what it changes ends with it.
chroot_run() {
	local root=$chroot_cache/$1 work=$2
	shift 2
	# The mounts are in a namespace that ends with the command.
	# shellcheck disable=SC2016 # for that shell
	unshare --mount sh -euc '
		root=$1 work=$2
		shift 2
		scratch=$(mktemp -d)
		mount -t tmpfs tmpfs "$scratch"
		mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
		mount -t overlay -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" overlay "$scratch/root"
		cd "$scratch/root"
		mkdir -p packages
		mount --bind "$work" packages
		mount -t proc proc proc
		mount --rbind -o ro /sys sys
		mount --rbind /dev dev
		exec chroot . /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive "$@"' sh "$root" "$work" "$@"
}
