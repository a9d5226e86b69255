# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Disks of the emulated machine: four that QEMU throttles, and one that holds fio.  Added to
# the options of scripts/vm.sh.

for disk in a:50 b:200 c:50 d:200; do
	truncate -s 64M "$work/vd${disk%:*}.img"
	options+=("--disk=$work/vd${disk%:*}.img,throttling.iops-total=${disk#*:}")
done
# With its libraries, which are of this architecture, it has 80 MB; in the initramfs these would have to be copied.
if [[ -z ${arch-} && ! -e $work/fio.img ]] && fio=$(command -v fio); then
	mkdir "$work/fio"
	cp -L "$fio" /lib64/ld-linux-x86-64.so.2 "$work/fio"
	ldd "$fio" | awk '/=> \// { print $3 }' | xargs cp -L -t "$work/fio"
	mke2fs -q -t ext4 -O ^has_journal -d "$work/fio" "$work/fio.img" 128M
fi
[[ ! -e $work/fio.img ]] || options+=("--disk=$work/fio.img")
