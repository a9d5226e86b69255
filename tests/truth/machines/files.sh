# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# A disk of the emulated machine with an xfs.  Added to the options of scripts/vm.sh.

if [[ ! -e $work/xfs.img ]] && command -v mkfs.xfs >/dev/null; then
	truncate -s 32M "$work/xfs.img"
	# A small one is for tests only. Where blocks can be shared copy_file_range() copies fewer bytes than it
	# is asked to.
	mkfs.xfs --unsupported -q -m reflink=0 "$work/xfs.img"
fi
[[ ! -e $work/xfs.img || " ${options[*]} " == *"/xfs.img "* ]] || options+=("--disk=$work/xfs.img")
