# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# A kernel of arm64 with pages of 64 kB, which no release of Debian has. Sourced by kernels.sh.

# Build it in directory $1 from the package linux-source-6.12: with the configuration of the cloud kernel, which
# is there, but for the size of pages, and without modules and drivers that no emulated machine has. Takes half an
# hour on two CPUs.
build_64k() {
	local into=$1 config=$cache/6.12-arm64/config dir tree need
	for need in aarch64-linux-gnu-gcc make flex bison bc pahole; do
		command -v "$need" >/dev/null || {
			say "6.12-64k: $need is missing, which building a kernel takes (packages_kernel in lib/packages.sh)"
			return 1
		}
	done
	dir=$(mktemp -d "$work/source.XXXXXX")
	chmod 755 "$work" "$dir"
	mkdir "$dir/deb"
	chmod 777 "$dir/deb" # as in unpack
	private_apt "$dir" "$(suite_groups 6.12 | paste -sd ' ')" "$(dpkg --print-architecture)" ""
	apt-get -q -c "$dir/apt.conf" update >"$dir/log" 2>&1 || :
	(cd "$dir/deb" && apt-get -qq -c "$dir/apt.conf" download linux-source-6.12) >>"$dir/log" 2>&1 || {
		say "6.12-64k: $(tail -n 1 "$dir/log")"
		return 77
	}
	dpkg-deb --fsys-tarfile "$dir"/deb/*.deb | tar -x -O --wildcards './usr/src/*.tar.xz' | tar -x -J -C "$dir"
	tree=$dir/linux-source-6.12
	{
		grep -v '=m$' "$config" |
			grep -vE '^CONFIG_(ACPI|DRM|EFI|EVM|FB|HYPERV|IMA|INTEGRITY|KVM|MODULE_SIG|SOUND|USB|WIRELESS|WLAN|XEN)|^CONFIG_(MODULES|LOCALVERSION|ARM64_4K_PAGES|DEBUG_INFO_BTF|SYSTEM_(TRUSTED|REVOCATION)_KEYS)='
		printf '%s\n' CONFIG_ARM64_64K_PAGES=y CONFIG_DEBUG_INFO_BTF=y 'CONFIG_SYSTEM_TRUSTED_KEYS=""' \
			'CONFIG_SYSTEM_REVOCATION_KEYS=""' 'CONFIG_LOCALVERSION="-plumb-arm64-64k"'
	} >"$tree/.config"
	say "6.12-64k: building it"
	if ! make -C "$tree" "-j$(nproc)" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- olddefconfig Image.gz >"$dir/log" 2>&1; then
		say "6.12-64k: $(grep -m 1 -iE 'error|\*\*\*' "$dir/log")"
		return 1
	fi
	mv "$tree/arch/arm64/boot/Image.gz" "$into/vmlinuz"
	mv "$tree/.config" "$into/config"
	mkdir "$into/modules"
	echo "${modules[*]}" >"$into/modules/names"
	cat "$tree/include/config/kernel.release" >"$into/release"
	rm -rf "$dir"
}
