#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Programs read the kernels' fields in the size that they have there, which differs between kernels.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first two bytes of a register that had eight up to 6.8: they have all that is in it.
allowed() {
	case $1 in 5.10 | 6.1 | 6.1-rt) printf 'syscall-%s-tail: pt_regs.cs: 8, not 2\n' latency slower ;; esac
}

for kernel in 5.10 6.1 6.1-rt 6.12 7 7-rt; do
	if ! line=$(scripts/kernels.sh "$kernel" 2>/dev/null); then
		skip "fields of $kernel" "the archive has no such kernel"
		continue
	fi
	build/trust/image --types "${line##*$'\t'}" >"$work/types" || :
	is "programs read fields of $kernel in their size" "$(python3 tests/trust/field-sizes.py "$work/types" build/bpf/*.bpf.o 2>&1)" "$(allowed "$kernel")"
done
done_testing
