# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# A disk of the emulated machine with an xfs, which is never smaller.  Added to the options of scripts/vm.sh.

if [[ ! -e $work/xfs.img ]] && command -v mkfs.xfs >/dev/null; then
	truncate -s 300M "$work/xfs.img"
	# Where blocks can be shared copy_file_range() copies fewer bytes than it is asked to.
	mkfs.xfs -q -m reflink=0 "$work/xfs.img"
fi
[[ ! -e $work/xfs.img ]] || options+=("--disk=$work/xfs.img")
