# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2034
#
# Which Debian packages are needed for what, and how they are installed. Sourced.

# A C compiler; clang for BPF; libbpf (LGPL-2.1 or BSD-2), libelf (LGPL-3 or
# GPL-2) and zlib, which libbpf needs; jansson (MIT) for JSON; libdw (as libelf), which
# needs bzip2 (BSD-like) and liblzma (public domain), for debugging information; zstd (BSD
# or GPL-2), lz4 (BSD-2) and liblzma for kernels' files; libiberty (LGPL-2.1 or later) for
# names of C++ and Rust; capstone (BSD-3) to decode instructions of x86; libcap (BSD-3 or GPL-2) and
# libseccomp (LGPL-2.1) to give up capabilities and system calls; docutils for manual pages;
# xz for archives; the command lz4, which compresses BPF objects in programs.
packages_build=(make gcc libc6-dev binutils clang llvm bpftool pkg-config libbpf-dev libelf-dev zlib1g-dev
	libjansson-dev libdw-dev libbz2-dev liblzma-dev libzstd-dev liblz4-dev libiberty-dev libcapstone-dev libcap-dev libseccomp-dev python3-docutils linux-libc-dev xz-utils lz4)
# cmocka (Apache-2) for unit tests; gojq (MIT), which judges claims as jq does and starts in an eighth
# of its time; jsonschema (MIT) for Python, which judges JSON by its schema; clang's fuzzer and
# sanitizers; a browser, which a test drives, to look at pictures;
# the emulator and its guest; sys/sdt.h (CC0), with which a workload has USDT probes; compilers
# of C++, Go (BSD-3) and Rust (MIT or Apache-2) and of musl (MIT) for others; a Java virtual machine (GPL-2 with the Classpath exception), whose
# probes a test traces; fio (GPL-2), beside which a test measures disks, and
# xfsprogs (GPL-2 or LGPL-2.1) and btrfs-progs (GPL-2) for file systems of one; HdrHistogram (CC0 or BSD-2), whose percentile
# distributions a test compares with ours; auditd (GPL-2) and rsyslog (GPL-3), which get
# audit records; prometheus, prometheus-node-exporter and victoria-metrics (all Apache-2), which get metrics and
# which a test starts itself.
packages_test=(perl jq gojq libcmocka-dev libclang-rt-dev zstd bzip2 shellcheck util-linux procps man-db qemu-system-x86 busybox-static cpio clang-format strace file
	chromium chromium-driver python3-selenium python3-jsonschema systemtap-sdt-dev g++ golang-go rustc musl-tools default-jre-headless libhdrhistogram-java fio xfsprogs btrfs-progs auditd rsyslog
	prometheus prometheus-node-exporter victoria-metrics)

# For packages: debhelper, dpkg-dev and fakeroot make Debian's, lintian judges them, mmdebstrap makes the
# minimal systems in which they are built and installed; rpm makes RPM's and rpmlint judges them; zsh and fish
# complete command lines; buildah, podman and runc (all Apache-2) make and run the image of a container, setcap gives
# its program capabilities, and Kubernetes' client for Python (Apache-2) knows what a DaemonSet may have.
packages_package=(debhelper dpkg-dev fakeroot lintian mmdebstrap rpm rpmlint zsh fish buildah podman runc libcap2-bin python3-kubernetes)

# For make arm64: compilers, also of 32-bit programs; the libraries of packages_build; emulators of
# machines and of programs. The compilers conflict with gcc-multilib, which nothing here needs.
packages_arm64=(gcc-aarch64-linux-gnu g++-aarch64-linux-gnu gcc-arm-linux-gnueabihf linux-libc-dev-armhf-cross
	qemu-system-arm qemu-user
	{libbpf-dev,libelf-dev,zlib1g-dev,libjansson-dev,libdw-dev,libbz2-dev,liblzma-dev,libzstd-dev,liblz4-dev,libcapstone-dev,libcap-dev,libseccomp-dev}:arm64
	{libiberty-dev,libcmocka-dev,systemtap-sdt-dev,pkg-config}:arm64)

# For a kernel from source (kernels.sh --arch=arm64 6.12-64k).
packages_kernel=(flex bison bc dwarves)

# What a minimal system of another release has to have besides to build there: vmlinux.h, since
# a build machine may have no /sys/kernel/btf, and what unit tests and workloads need.
packages_chroot=(linux-bpf-dev libcmocka-dev systemtap-sdt-dev g++)

# What a system besides has that is booted in an emulated machine (the essential packages are there): systemd,
# which also judges our units, and time zones.
packages_systemd=(systemd tzdata)

# What a system has besides the essential packages whose programs a test traces; libc6-dbg has all names of the
# C library's functions.
packages_programs=(libc6-dbg libstdc++6 openssl python3-minimal xz-utils)

# Installs, and starts no daemon of what is installed: tests start their own.
packages_install_idle() (
	if [[ ! -e /usr/sbin/policy-rc.d ]]; then
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT
		printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
		chmod 755 /usr/sbin/policy-rc.d
	fi
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove "$@" >/dev/null
)

# packages_install NAME...: those that are missing, with apt. Nothing that is installed is removed for them; where it
# would have to be, apt says so. A library of another architecture is there in the version of the machine's own,
# which apt upgrades if the archive has a newer one.
packages_install() {
	local name missing=()
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		printf '%s: no apt here: install by hand what these Debian packages hold: %s\n' \
			"${0##*/}" "$*" >&2
		return 1
	fi
	for name; do
		dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
	done
	((${#missing[@]})) || return 0
	((EUID == 0)) || {
		printf '%s: needs root to install: %s\n' "${0##*/}" "${missing[*]}" >&2
		return 1
	}
	[[ " ${missing[*]}" != *:arm64* ]] || dpkg --add-architecture arm64
	DEBIAN_FRONTEND=noninteractive apt-get update -qq
	packages_install_idle "${missing[@]}"
}
