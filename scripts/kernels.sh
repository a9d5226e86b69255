#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Fetch the kernels that the tools are tested on, without installing anything.

set -euo pipefail

readonly program=${0##*/}
# shellcheck source=lib/apt.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/apt.sh"
# shellcheck source=lib/kernel-64k.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/kernel-64k.sh"
readonly all_x86_64=(5.10 6.1 6.1-rt 6.12 7 7-rt) all_arm64=(5.10 6.12 6.12-16k 7 7-16k) built=6.12-64k

usage() {
	cat <<-END
	Usage: $program [--arch=ARCH] [--refresh] [SERIES...]
	       $program --arch=arm64 --busybox

	Fetch the newest Debian kernel of each SERIES (default: all) and print SERIES,
	RELEASE and the path of its image, separated by tabs. Nothing is
	installed: the packages come from this machine's own APT sources, with the suite's
	name replaced, and are unpacked into a cache. What is cached is not fetched again.

	Series:  x86_64: ${all_x86_64[*]}    arm64: ${all_arm64[*]} $built
	7 is the newest 7.x. SERIES-rt is built with PREEMPT_RT, SERIES-16k has pages of 16 kB, the
	others are cloud kernels. $built has pages of 64 kB; it is not among "all", since it is built
	from Debian's source, which takes half an hour.

	  --arch=ARCH   x86_64 (default) or arm64
	  --refresh     fetch again what is cached
	  --busybox     print the path of a static busybox, which is fetched as kernels are
	  -h, --help    show this help

	Cache: \$PLUMB_KERNEL_CACHE, else \$XDG_CACHE_HOME/plumb/kernels, else
	~/.cache/plumb/kernels. It holds SERIES/vmlinuz, release, config, and in modules those
	that tests need (arm64: SERIES-arm64, and busybox-arm64).

	Exit status: 0 good; 1 could not fetch; 2 wrong usage; 77 the archive no longer
	has a series that was asked for (the others are printed).
	END
}

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { say "$@"; exit 1; }
misuse() { say "$* (try --help)"; exit 2; }

# Where a series may be: groups of suites, one a line, in the order to look in.
# A release's own, long package list comes last.
suite_groups() {
	case ${1%-*} in
	5.10) printf '%s\n' "bullseye bullseye-security" ;;
	6.1) printf '%s\n' "bookworm bookworm-security" ;;
	6.12) printf '%s\n' "bookworm-backports bookworm-security trixie-security" "trixie" ;;
	7) printf '%s\n' "trixie-backports" "forky forky-security" "sid" ;;
	busybox) printf '%s\n' "bookworm trixie" ;;
	esac
}

# The releases of a series and of its flavour, as an extended regular expression. Asking for one
# number more than the name has leaves out metapackages such as linux-image-6.1-cloud-amd64.
release_pattern() {
	local series=${1%-*} flavour=cloud-$deb_arch
	case $1 in
	*-rt) flavour=rt-$deb_arch ;;
	*-16k) flavour=$deb_arch-16k ;;
	esac
	case $series in
	7) printf '%s' '7\.[0-9]+\.[0-9]' ;;
	*) printf '%s' "${series//./\\.}\\.[0-9]" ;;
	esac
	printf '%s' ".*-$flavour"
}

# The modules that tests load: block devices and file systems, with the modules that these need.
readonly modules=(configfs loop null_blk mq-deadline scsi_common scsi_mod sd_mod scsi_debug crc-t10dif crct10dif_common
	dax dm-mod dm-delay dm-crypt md-mod raid0 raid1 virtio_blk
	crc16 crc32c_generic libcrc32c mbcache jbd2 ext4 xfs overlay)

# Download package $2 with the private APT in $1; put its kernel image, its configuration
# and its modules for tests, whichever it has, into directory $3.
unpack() {
	local dir=$1 package=$2 into=$3 name patterns=("${modules[@]/#/*/}")
	mkdir -p "$dir/deb" "$dir/tree"
	chmod 777 "$dir/deb" # APT downloads as a user of its own where root calls it
	(cd "$dir/deb" && apt-get -qq -c "$dir/apt.conf" download "$package") >>"$dir/log" 2>&1 || return
	# tar fails for the patterns that match nothing; what was found is checked by the caller.
	dpkg-deb --fsys-tarfile "$dir"/deb/*.deb | tar -x -C "$dir/tree" --wildcards \
		'./boot/vmlinuz-*' './boot/config-*' './usr/lib/modules/*/vmlinuz' './usr/lib/modules/*/config' \
		"${patterns[@]/%/.ko*}" 2>/dev/null || :
	for name in vmlinuz config; do
		find "$dir/tree" -type f \( -name "$name" -o -name "$name-*" \) -exec mv {} "$into/$name" \;
	done
	mkdir -p "$into/modules"
	find "$dir/tree" -type f -name '*.ko.xz' -exec xz -d {} +
	find "$dir/tree" -type f -name '*.ko' -exec mv {} "$into/modules/" \;
	rm -rf "$dir/deb" "$dir/tree"
}

# Put the newest kernel of series $1 into directory $2. Returns 77 if there is none.
fetch() {
	local series=$1 into=$2 group dir names releases release package trouble=""
	while read -r group; do
		dir=$(mktemp -d "$work/apt.XXXXXX")
		chmod 755 "$work" "$dir"
		private_apt "$dir" "$group" "$deb_arch" ": get a kernel image by hand and give vm.sh its path"
		say "$series: looking in ${group// /, }"
		# A suite that is gone makes this fail, with the others read all the same.
		apt-get -q -c "$dir/apt.conf" update >"$dir/log" 2>&1 || :
		names=$(apt-cache -c "$dir/apt.conf" pkgnames linux-)
		releases=$(sed -nE "s/^linux-image-($(release_pattern "$series"))(-unsigned)?$/\1/p" <<<"$names" | sort -ruV)
		for release in $releases; do
			# From 7.x on the image is in linux-binary-*, and linux-image-* is but a name.
			for package in linux-{binary,image,binary-unsigned}-"$release" "linux-image-$release-unsigned"; do
				grep -qxF "$package" <<<"$names" || continue
				if ! unpack "$dir" "$package" "$into" || [[ ! -s $into/vmlinuz ]]; then
					continue
				fi
				[[ -s $into/config ]] || unpack "$dir" "linux-base-$release" "$into" || :
				[[ -s $into/modules/loop.ko ]] || unpack "$dir" "linux-modules-$release" "$into" || :
				echo "${modules[*]}" >"$into/modules/names"
				printf '%s\n' "$release" >"$into/release"
				say "$series: unpacked $package"
				return 0
			done
		done
		# A suite that is gone is no "Failed to fetch"; a mirror that does not answer is.
		[[ -n $trouble ]] || trouble=$(grep -m 1 'Failed to fetch' "$dir/log") || :
	done < <(suite_groups "$series")
	if [[ -n $trouble ]]; then
		say "$series: ${trouble#?: }"
		return 1
	fi
	say "$series: the archive no longer has a linux-image-* package of this series for $deb_arch"
	return 77
}

# Print the path of a static busybox of this architecture.
provide_busybox() {
	local dir=$cache/busybox-$arch apt
	if [[ -n $refresh || ! -x $dir/busybox ]]; then
		prepare
		apt=$(mktemp -d "$work/apt.XXXXXX")
		rm -rf "$cache/.new"
		mkdir "$cache/.new"
		mkdir -p "$apt/deb"
		chmod 755 "$work" "$apt"
		chmod 777 "$apt/deb" # as in unpack
		private_apt "$apt" "$(suite_groups busybox)" "$deb_arch" ""
		apt-get -q -c "$apt/apt.conf" update >"$apt/log" 2>&1 || :
		(cd "$apt/deb" && apt-get -qq -c "$apt/apt.conf" download busybox-static) >>"$apt/log" 2>&1 ||
			die "busybox-static of $deb_arch: $(tail -n 1 "$apt/log")"
		dpkg-deb --fsys-tarfile "$apt"/deb/*.deb | tar -x -O --wildcards '*bin/busybox' >"$cache/.new/busybox"
		chmod 755 "$cache/.new/busybox"
		rm -rf "$dir"
		mv "$cache/.new" "$dir"
	fi
	printf '%s\n' "$dir/busybox"
}

# Whether all that is needed of a kernel is in directory $1. A cache can be of a time when tests
# loaded fewer modules.
is_cached() {
	[[ -z $refresh && -s $1/release && $(cat "$1/modules/names" 2>/dev/null) == "${modules[*]}" ]]
}

# Print the line of series $1, fetching it first if it must be.
provide() {
	local series=$1 dir=$cache/$1
	[[ $arch == x86_64 ]] || dir+=-$arch
	if ! is_cached "$dir"; then
		[[ $series != "$built" ]] || provide 6.12 >/dev/null || return
		prepare
		# Another run may have fetched it while this one waited for the lock.
		if ! is_cached "$dir"; then
			rm -rf "$cache/.new"
			mkdir "$cache/.new"
			if [[ $series == "$built" ]]; then
				build_64k "$cache/.new" || return
			else
				fetch "$series" "$cache/.new" || return
			fi
			rm -rf "$dir"
			mv "$cache/.new" "$dir"
		fi
	fi
	printf '%s\t%s\t%s\n' "$series" "$(<"$dir/release")" "$dir/vmlinuz"
}

# What only fetching needs.
prepare() {
	prepare_cache "kernels come from a Debian archive; get a kernel image by hand and give vm.sh its path" \
		apt-get apt-cache apt-config dpkg-deb xz
}

arch=x86_64 refresh="" work="" busybox=""
series=()
while (( $# )); do
	case $1 in
	-h | --help) usage; exit 0 ;;
	--refresh) refresh=1 ;;
	--busybox) busybox=1 ;;
	--arch=*) arch=${1#*=} ;;
	--arch) (( $# > 1 )) || misuse "--arch needs a value"; arch=$2; shift ;;
	-*) misuse "unknown option: $1" ;;
	*) series+=("$1") ;;
	esac
	shift
done
case $arch in
x86_64) deb_arch=amd64 all=("${all_x86_64[@]}") ;;
arm64) deb_arch=arm64 all=("${all_arm64[@]}") ;;
*) misuse "unknown architecture: $arch" ;;
esac
[[ -z $busybox ]] || { (( ${#series[@]} == 0 )) || misuse "--busybox takes no SERIES"; }
for one in "${series[@]}"; do
	[[ " ${all[*]} " == *" $one "* || $arch-$one == "arm64-$built" ]] || misuse "unknown series for $arch: $one (known: ${all[*]})"
done
(( ${#series[@]} )) || series=("${all[@]}")
cache=${PLUMB_KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/plumb/kernels}
export LC_ALL=C # APT's messages are read

if [[ -n $busybox ]]; then
	provide_busybox
	exit
fi

worst=0
for one in "${series[@]}"; do
	status=0
	provide "$one" || status=$?
	# Missing from the archive is the mildest way to fail.
	(( status == 0 || worst != 0 && status == 77 )) || worst=$status
done
exit "$worst"
