# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# A program of Go for an emulated machine of arm64, where no compiler is.  Added to the options of scripts/vm.sh.

# shellcheck source=../lib/go.sh
. "$here/lib/go.sh"
if [[ ${arch-} == arm64 ]] && { [[ -e $work/chain ]] || go_chain "$top" arm64 "$work/chain" 2>/dev/null; }; then
	options+=("--file=$work/chain:/truth/chain")
fi
