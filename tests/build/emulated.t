#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Unit tests of what differs on arm64, cross-built (make arm64), in an emulator of programs: names and numbers
# of system calls, ELF files and instructions, which the cross compiler makes, and pages of 64 kB.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

unit=$PWD/build/arm64/unit
differing=(code-return syscalls syscalls-selection userfuncs-arm64 userfuncs-code userfuncs-go usdt usdt-arguments binary maps)
paging=(ledger hist maps snapshot atomic-file)
if [[ ! -x build/arm64/bin/syscall-latency ]] || ! command -v qemu-aarch64 >/dev/null; then
	echo "1..0 # SKIP no build/arm64 or no qemu-user"
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/said"
make -s arm64-units NAMES="${differing[*]} ${paging[*]}" >"$work/said" 2>&1
is "they are built" $? 0

# Programs that a test runs are those of arm64.
for program in cc objdump objcopy strip readelf nm; do
	ln -s "$(command -v "aarch64-linux-gnu-${program/#cc/gcc}")" "$work/$program"
done
export PATH=$work:$PATH CC=aarch64-linux-gnu-gcc CMOCKA_MESSAGE_OUTPUT=TAP
# passes UNIT [OPTION...]
passes() {
	local name=$1
	shift
	timeout 120 qemu-aarch64 "$@" -L / "$unit/$name" >"$work/said" 2>&1
	is "$name${*:+, $*}" "$? $(grep -c '^ok' "$work/said") $(grep -m 1 '^not ok' "$work/said")" \
		"0 $(sed -n 's/^1\.\.//p' "$work/said") "
}

for name in "${differing[@]}"; do
	passes "$name"
done
passes userfuncs-arm64 -r 6.12.118 -E NOPS_ARE_STEPPED=1
for name in "${paging[@]}"; do
	passes "$name" -p 65536
done
done_testing
