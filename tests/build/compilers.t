#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Everything is built without a warning by clang, with shared libraries and for arm64, in the processor time
# that other tests leave.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
chrt --idle --pid 0 $$
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/said"
export WERROR=1

# CLAIM ARG...
builds() {
	local claim=$1 status=0
	shift
	make "-j$(nproc)" "$@" >"$work/all" 2>&1 || status=$?
	grep -vE '^  [A-Z]+ ' "$work/all" >"$work/said"
	is "$claim" "$status" 0
}

# BPF objects and their skeletons are the same whatever compiles the rest, objects are the same
# however they are linked: made once.
mkdir -p build/{clang,dynamic}
cp -a --update build/{vmlinux.h,bpf-flags,bpf,gen} build/clang
cp -a --update build/{vmlinux.h,bpf-flags,bpf,gen,flags,lib} build/dynamic
builds "clang" B=build/clang CC=clang all units
builds "shared libraries" B=build/dynamic DYNAMIC=1 all
if ! command -v aarch64-linux-gnu-gcc >/dev/null; then
	skip "arm64" "there is no cross compiler"
elif ! scripts/kernels.sh --arch=arm64 7 >/dev/null 2>"$work/said"; then
	skip "arm64" "$(tail -n 1 "$work/said")"
else
	builds "arm64" arm64
fi
done_testing
