#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The packages for arm64, made on another architecture of what make arm64 has built: programs that run there, and
# the same files as for x86_64. Of two tools.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
for need in qemu-aarch64 aarch64-linux-gnu-gcc dpkg-buildpackage dh lintian; do
	command -v "$need" >/dev/null || { echo "1..0 # SKIP there is no $need"; exit 0; }
done
[[ -x build/arm64/bin/syscall-count ]] || { echo "1..0 # SKIP no build/arm64: make arm64"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
readonly tools="syscall-count trace-bias"
version=$(sed -nE 's/^VERSION *:= *//p' Makefile)
evidence "$work/log"

# archive BUILD MACHINE [MAKE-ARG...] - into $work/MACHINE, as make tarball has it
archive() {
	local build=$1 machine=$2
	shift 2
	make B="$build" "$@" TOOLS="$tools" LINKED="$work/linked" "$work/linked" >"$work/log" 2>&1 &&
		cp "$work/linked" "$build/linked" && rm "$work/linked" &&
		scripts/package/tarball --build="$build" --machine="$machine" --tools="$tools" --output="$work/$machine" >"$work/log" 2>&1 &&
		tar -x -f "$work/$machine/plumb-$version-$machine.tar.xz" -C "$work/$machine"
}

# is_arm64 PROGRAM... - prints what is not; each is to tell its version, with libraries of arm64
is_arm64() {
	local program
	for program; do
		readelf -h "$program" | grep -q 'Machine: *AArch64' || echo "$program is of another architecture"
		[[ $(qemu-aarch64 -L / "$program" --version 2>&1) == "${program##*/} (plumb) $version" ]] || echo "$program does not run"
		qemu-aarch64 -L / "$program" --help >/dev/null 2>&1 || echo "$program --help fails"
	done
}

# --- the static tools ---
archive build/arm64 aarch64 CC=aarch64-linux-gnu-gcc VMLINUX_BTF=build/arm64/vmlinux.btf
is "the archive of static tools is made" $? 0 || exit 1
archive build x86_64
is "so is that of x86_64" $? 0 || exit 1
arm64=$work/aarch64/plumb-$version-aarch64 x86_64=$work/x86_64/plumb-$version-x86_64
is "its programs are arm64's, and run" "$(is_arm64 "$arm64"/sbin/*)" ""
is "they are static" "$(readelf -W -l "$arm64"/sbin/* | grep INTERP)" ""
is "it has the files that x86_64's has, apart from licences" "$(diff \
	<(cd "$x86_64" && find . -path ./LICENSES -prune -o -print | sort) <(cd "$arm64" && find . -path ./LICENSES -prune -o -print | sort))" ""
claim "their sums hold" sh -c "cd '$arm64' && sha256sum --quiet -c SHA256SUMS"
evidence "$arm64/LINKED"
libraries() { awk 'found { print $1 } /^FILE +PACKAGE/ { found = 1 }' "$1/LINKED" | grep '[.]a$' | grep -v '^lib\(m\|mvec\|gcc\).*'; }
is "it is linked of the libraries of x86_64's" "$(libraries "$arm64")" "$(libraries "$x86_64")"
is "its libc is the distribution's, in its version for arm64" "$(awk '$1 == "libc.a" { print $2, $3 }' "$arm64/LINKED")" \
	"libc6-dev $(dpkg-query -W -f '${Version}' libc6-dev:arm64)"

# --- Debian's package ---
evidence "$work/log"
VMLINUX_BTF=$PWD/build/arm64/vmlinux.btf scripts/package/deb --arch=arm64 --tools="$tools" --output="$work/deb" >"$work/log" 2>&1
is "Debian's package is cross-built" $? 0 || { tail -n 40 "$work/log" | tap_quote >&2; exit 1; }
deb=$work/deb/plumb-tools_$version-1_arm64.deb
is "it is arm64's" "$(dpkg-deb -f "$deb" Architecture)" arm64
dpkg-deb -x "$deb" "$work/root"
is "so are its programs, which run with the libraries of arm64" "$(for tool in $tools; do is_arm64 "$work/root/usr/sbin/$tool"; done)" ""
claim "each is hardened" scripts/package/hardened "$deb"
is "no compiler warned" "$(grep -E '^[^ ]+:[0-9]+:[0-9]+: warning:' "$work/deb/deb.log" | sort -u)" ""
lintian --allow-root "$work"/deb/*.changes >"$work/log" 2>&1
is "lintian has neither an error nor a warning" "$(grep -E '^[EW]: |internal error|^[Cc]annot' "$work/log")" ""
done_testing
