#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Run one command as root on another kernel, in an emulated machine that is made for it.

set -euo pipefail

readonly program=${0##*/}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here top=${here%/*}

usage() {
	cat <<-END
	Usage: $program [OPTION...] KERNEL -- COMMAND [ARG...]

	Boot KERNEL under QEMU's software emulation (no KVM, no network), run
	COMMAND there as root, pass its stdout, stderr and exit status on, and power off.
	KERNEL is a series that kernels.sh knows (5.10, 6.1, 6.1-rt, 6.12, 7, 7-rt; arm64:
	6.12, 7, 6.12-16k, 7-16k, 6.12-64k; fetched when missing) or the path, with a slash in it, of a
	kernel image.

	In the guest: busybox, the tools of build/bin in /bin, what is in build/tests in
	/tests (arm64: of build/arm64), the modules that kernels.sh fetched with KERNEL in /modules; /proc, /sys, /dev,
	tracefs, debugfs, bpffs and cgroup2 are mounted, lo is up, stdin is /dev/null.

	  --smp=N                        CPUs (default 2; before QEMU 10 they take turns)
	  --mem=MB                       memory (default 1024)
	  --cpu=MODEL                    what QEMU calls it (default: max, without cx16 before 7)
	  --icount[=SHIFT]               the guest's clock counts its instructions, one as 2^SHIFT ns
	                                 (default 0), and skips what it is idle: the same on a busy machine
	  --timeout=SEC                  stop after SEC seconds, boot included (default 120)
	  --append=WORDS                 append to the kernel's command line (preempt=full)
	  --file=HOSTPATH[:GUESTPATH]    also copy a file in (default GUESTPATH: /NAME)
	  --root=DIR                     also copy the tree under DIR to /
	  --disk=HOSTPATH[,OPTION...]    a virtio disk, which is that raw image, with options of
	                                 QEMU's -drive; /dev/vda is the first one (6.12, 7)
	  --systemd=DIR                  the system is the one in DIR, with its systemd, which runs
	                                 COMMAND after basic.target and timers.target; nothing else of the above is
	                                 there but /modules (chroots.sh unpacks one)
	  --arch=ARCH                    x86_64 (default) or arm64
	  -h, --help                     show this help

	Exit status: COMMAND's; but 1 could not start; 2 wrong usage; 77 the archive no
	longer has this kernel; 124 timeout; 125 the guest panicked, died, or its kernel
	logged a BUG, Oops, WARNING, lockup or stall, even if COMMAND succeeded.

	Example: $program 6.12 -- syscall-latency -d 2
	END
}

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { say "$@"; exit 1; }
misuse() { say "$* (try --help)"; exit 2; }

# Quote a word for any POSIX shell (printf %q may answer in bash's own $'' form).
quote() { printf "'%s'" "${1//\'/\'\\\'\'}"; }

# Append what "find ARG..." lists in directory $1 to the initramfs; root owns it all. The
# kernel unpacks archives that follow each other, so nothing needs to be merged here.
# Uncompressed boots fastest: emulated, unpacking costs more than copying.
pack() {
	local dir=$1
	shift
	(cd "$dir" && find "$@" -print0 | cpio --null --create --format=newc --owner=0:0 --quiet) >>"$work/initrd"
}

# Stage the file $1, "HOSTPATH[:GUESTPATH]", under $work/files.
stage_file() {
	local from=$1 to=""
	if [[ $1 == *:/* ]]; then
		from=${1%:/*}
		to=/${1##*:/}
	fi
	[[ -f $from && -r $from ]] || die "--file: no such readable file: $from"
	[[ -n $to && $to != */ ]] || to=${to:-/}${from##*/}
	[[ /$to/ != */../* ]] || misuse "--file: .. in the guest's path: $to"
	mkdir -p "$work/files$(dirname "$to")"
	cp -L --preserve=mode,timestamps "$from" "$work/files$to"
}

# The guest's first process, where it is not systemd.
write_init() {
	cat >"$1" <<-'END'
	#!/bin/busybox sh
	/bin/busybox chmod 755 / # some kernels give it 1777
	/bin/busybox mkdir -p /bin /sbin /usr/bin /usr/sbin /proc /sys /dev /tmp /run /root
	/bin/busybox --install -s /bin
	export PATH=/bin:/sbin:/usr/bin:/usr/sbin:/tests HOME=/root TERM=dumb
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs devtmpfs /dev
	mkdir -p /dev/pts /dev/shm /.vm/tmp
	mount -t devpts devpts /dev/pts
	mount -t tmpfs tmpfs /dev/shm
	ln -s /proc/self/fd /dev/fd
	ln -s fd/0 /dev/stdin
	ln -s fd/1 /dev/stdout
	ln -s fd/2 /dev/stderr
	mount -t tmpfs -o mode=1777 tmpfs /.vm/tmp
	cp -a /tmp/. /.vm/tmp/ # what --file and --root put there
	chmod 1777 /.vm/tmp
	mount -o move /.vm/tmp /tmp
	mount -t tracefs tracefs /sys/kernel/tracing
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t bpf bpf /sys/fs/bpf
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	hostname plumb-vm
	ip link set lo up
	. /.vm/run
	END
	chmod 755 "$1"
}

# What runs the command, sourced by /init or as a service of systemd. The command gets pipes and
# not the serial lines, so that it sees no terminal and may open /dev/stderr again. What it leaves
# running is killed, else the cats would wait for it.
write_run() {
	cat >"$1" <<-'END'
	#!/bin/sh
	out=/dev/ttyS1 err=/dev/ttyS2 status=/dev/ttyS3
	if [ "$(uname -m)" = aarch64 ]; then # whose console is no ttyS
	    out=/dev/ttyS0 err=/dev/ttyS1 status=/dev/ttyS2
	fi
	for line in $out $err $status; do stty -F $line raw -echo; done
	mkfifo /.vm/out /.vm/err
	cat /.vm/out >$out &
	out=$!
	cat /.vm/err >$err &
	err=$!
	cd /
	setsid /.vm/command </dev/null >/.vm/out 2>/.vm/err &
	wait $!
	result=$?
	for pid in $(cat /sys/fs/cgroup/system.slice/plumb-vm.service/cgroup.procs || cd /proc && echo [0-9]*); do
	    case $pid in $$ | $out | $err) ;; *) kill -9 $pid ;; esac
	done 2>/dev/null # kernel threads do not mind
	wait $out $err
	echo "exit $result tainted $(cat /proc/sys/kernel/tainted)" >$status
	busybox poweroff -f
	END
	chmod 755 "$1"
}

# What systemd needs to run the command. With a machine ID this is no first boot; what it would
# update after an update of the system is not used.
write_units() {
	local tree=$1 one
	mkdir -p "$tree/etc/systemd/system" "$tree/var" "$tree/usr/bin"
	cp -L "$busybox" "$tree/usr/bin/busybox"
	ln -s /lib/systemd/systemd "$tree/init"
	echo 0123456789abcdef0123456789abcdef >"$tree/etc/machine-id"
	touch "$tree/etc/.updated" "$tree/var/.updated"
	for one in {dev-hugepages,dev-mqueue,sys-fs-fuse-connections}.mount systemd-{random-seed,update-utmp}.service; do
		ln -s /dev/null "$tree/etc/systemd/system/$one"
	done
	printf '%s\n' '[Unit]' 'Requires=basic.target' 'After=timers.target' '[Service]' 'Type=exec' 'ExecStart=/.vm/run' >"$tree/etc/systemd/system/plumb-vm.service"
	append="systemd.unit=plumb-vm.service systemd.show_status=no $append"
}

# The whole initramfs, in $work/initrd.
build_initrd() {
	local one tree=$work/tree
	mkdir -p "$tree/etc" "$tree/.vm" "$work/files"
	if [[ -n $systemd ]]; then
		write_units "$tree"
	else
		mkdir "$tree/bin"
		cp -L "$busybox" "$tree/bin/busybox"
		write_init "$tree/init"
	fi
	write_run "$tree/.vm/run"
	{
		echo '#!/bin/sh'
		printf 'exec'
		for one in "${command[@]}"; do
			printf ' '
			quote "$one"
		done
		echo
	} >"$tree/.vm/command"
	chmod 755 "$tree/.vm/command"
	if [[ -z $systemd ]]; then
		printf '%s\n' 'root:x:0:0:root:/root:/bin/sh' 'nobody:x:65534:65534:nobody:/:/bin/sh' >"$tree/etc/passwd"
		printf '%s\n' 'root:x:0:' 'nogroup:x:65534:' >"$tree/etc/group"
	fi
	printf '%s\n' '127.0.0.1 localhost' '::1 localhost' >"$tree/etc/hosts"
	for one in "${files[@]}"; do stage_file "$one"; done

	# What comes later wins.
	[[ -z $systemd ]] || pack "$systemd" . -mindepth 1
	pack "$tree" . -mindepth 1
	[[ -n $systemd || ! -d $build/bin ]] || pack "$build" bin
	[[ -n $systemd || ! -d $build/tests ]] || pack "$build" tests \( -type d -o ! -name '*.[do]' \)
	[[ ! -d ${kernel%/*}/modules ]] || pack "${kernel%/*}" modules
	for one in "${roots[@]}"; do pack "$one" . -mindepth 1; done
	pack "$work/files" . -mindepth 1
}

# Copy what comes through the FIFO $work/$1 to descriptor $2. Its write end stays open
# as $writer until QEMU has it. A reader that goes away ends the machine.
copy_out() {
	local hold
	mkfifo "$work/$1"
	exec {hold}<>"$work/$1" # else each end would wait for the other to be opened
	{
		status=0
		cat || status=$?
		(( status == 0 )) || { echo "$status" >"$work/gone"; kill "$(<"$work/pid")"; }
	} <"$work/$1" >&"$2" {hold}>&- &
	copiers+=("$!")
	exec {writer}>"$work/$1" {hold}>&-
	writers+=("$writer")
}

# Start the machine. Three serial lines besides the console carry stdout, stderr and the
# status; each has an interrupt of its own (by default they share two, as ISA lines cannot).
# thread=single: two emulated CPUs that really run at once break when one patches code that
# the other runs, as each attached probe does (seen with QEMU 7.2, not with 10.0).
# With thread=multi, QEMU 7.2 also breaks 6.12 by its 16-byte compare-and-exchange.
# pauth-impdef: else authentication of pointers takes most of an emulated arm64's time.
# -erms, -fsrm: kernels then copy and clear by words; the emulator takes strings byte by byte,
# a fifth of the time that a tool takes to start.
# no_timer_check: else a boot in ten panics.
# noirqdebug: else a real-time kernel, whose serial handlers are threads, takes the interrupts of a
# busy line for spurious ones and switches them off.
# loglevel=5 and not "quiet", which would hide WARNINGs.
start_qemu() {
	local thread=single version machine=() counting=()
	version=$("$emulator" --version)
	[[ ! $version =~ version\ ([0-9]+) ]] || (( BASH_REMATCH[1] < 10 )) || thread=multi
	# sleep=off: when all CPUs are idle, the clock jumps to the next timer.
	# The kernel's loops of delays cannot be calibrated then.
	(( ! icount )) || thread=single counting=(-icount "shift=${shift:-0},sleep=off") append="lpj=1000000 $append"
	# shellcheck disable=SC2054 # QEMU's commas
	case $arch in
	x86_64)
		append="console=ttyS0 no_timer_check tsc=reliable $append"
		machine=(-cpu "$cpu,-erms,-fsrm" -device isa-serial,chardev=console,index=0,irq=4
			-device isa-serial,chardev=out,index=1,irq=3 -device isa-serial,chardev=err,index=2,irq=6
			-device isa-serial,chardev=status,index=3,irq=7)
		;;
	arm64)
		append="console=ttyAMA0 $append"
		machine=(-M virt -cpu "${cpu/#max/max,pauth-impdef=on}" -serial chardev:console
			-device pci-serial,chardev=out,addr=0x4 -device pci-serial,chardev=err,addr=0x5
			-device pci-serial,chardev=status,addr=0x6)
		;;
	esac
	timeout --kill-after=5 "$timeout" "$emulator" \
		-accel tcg,thread=$thread "${counting[@]}" -smp "$smp" -m "$mem" \
		-no-user-config -nodefaults -display none -no-reboot \
		-kernel "$kernel" -initrd "$work/initrd" \
		-append "loglevel=5 panic=-1 oops=panic noirqdebug 8250.nr_uarts=4 $append" \
		-chardev file,id=console,path="$work/console" -chardev file,id=out,path="$work/out" \
		-chardev file,id=err,path="$work/err" -chardev file,id=status,path="$work/status" \
		"${machine[@]}" "${disks[@]}" </dev/null >"$work/qemu" 2>&1 &
	qemu=$!
	echo "$qemu" >"$work/pid"
}

# Kernel messages that make a run an error, whatever the command says; [#1] ends the first
# line of every oops.
readonly serious='^\[ *[0-9]+\.[0-9]+\](\[ *[CT][0-9]+\])? (WARNING: |.*(BUG: |BUG at |Oops|\[#[0-9]+\]|Kernel panic|soft lockup|hard LOCKUP|detected stall|blocked for more than))'
# The same in /proc/sys/kernel/tainted: bad page, died, warned, soft lockup.
readonly tainting=$((1 << 5 | 1 << 7 | 1 << 9 | 1 << 14))

# Say that the guest failed, show its console from line $2 on, and exit with $1.
guest_failed() {
	local status=$1 from=$2
	shift 2
	say "$kernel: $*; its console:"
	tail -n "$from" "$work/console" | head -n 60 | tr -d '\r' >&2 || :
	exit "$status"
}

# shellcheck disable=SC2317 # the trap calls it
cleanup() {
	trap '' INT TERM HUP
	if [[ -n $qemu ]]; then
		kill "$qemu" 2>/dev/null || : # timeout passes it on
		wait "$qemu" || :
	fi
	rm -rf "$work"
}

smp=2 mem=1024 timeout=120 cpu=max append="" icount=0 shift=0 systemd="" arch=x86_64
files=() roots=() disks=()
while (( $# )); do
	option=$1
	case $option in
	-h | --help) usage; exit 0 ;;
	--icount | --icount=[0-9])
		icount=1 shift=${option#--icount}
		shift=${shift#=}
		shift
		continue
		;;
	--smp | --mem | --timeout | --cpu | --append | --file | --root | --disk | --systemd | --arch)
		(( $# > 1 )) || misuse "$option needs a value"
		value=$2
		shift
		;;
	--*=*) value=${option#*=} option=${option%%=*} ;;
	--) misuse "KERNEL is missing" ;;
	-*) misuse "unknown option: $option" ;;
	*) break ;;
	esac
	shift
	case $option in
	--smp | --mem | --timeout)
		[[ $value =~ ^[1-9][0-9]{0,6}$ ]] || misuse "$option: not a positive number: $value"
		declare "${option#--}=$value"
		;;
	--cpu) cpu=$value ;;
	--append) append=$value ;;
	--file) files+=("$value") ;;
	--root)
		[[ -d $value ]] || die "--root: no such directory: $value"
		roots+=("$value")
		;;
	--systemd)
		[[ -x $value/lib/systemd/systemd ]] || die "--systemd: no systemd in $value"
		systemd=$value
		;;
	--disk)
		[[ -f ${value%%,*} && -w ${value%%,*} ]] || die "--disk: no such writable file: ${value%%,*}"
		disks+=(-drive "if=virtio,format=raw,cache=unsafe,file=$value")
		;;
	--arch)
		[[ $value == @(x86_64|arm64) ]] || misuse "unknown architecture: $value"
		arch=$value
		;;
	*) misuse "unknown option: $option" ;;
	esac
done
(( $# )) || misuse "KERNEL is missing"
kernel=$1 && shift
[[ ${1-} == -- && $# -gt 1 ]] || misuse "-- COMMAND is missing after $kernel"
command=("${@:2}")
# By cmpxchg16b QEMU 7.2 lets these die of double faults; 7.x takes it for task storage.
[[ $arch-$kernel-$cpu != x86_64-[56]*-max ]] || cpu=max,-cx16

case $arch in
x86_64) emulator=qemu-system-x86_64 needs=("$emulator:qemu-system-x86" busybox:busybox-static) build=$top/build ;;
arm64) emulator=qemu-system-aarch64 needs=("$emulator:qemu-system-arm") build=$top/build/arm64 ;;
esac
for need in "${needs[@]}" cpio:cpio; do
	command -v "${need%:*}" >/dev/null || die "${need%:*} is missing: apt-get install ${need#*:}"
done
case $arch in
x86_64) busybox=$(command -v busybox) ;;
*) busybox=$("$here/kernels.sh" "--arch=$arch" --busybox) || exit ;;
esac
! grep -q -a -F /ld-linux "$busybox" || die "$busybox is not static: apt-get install busybox-static"

if [[ $kernel == */* ]]; then
	[[ -f $kernel && -r $kernel ]] || die "no such readable kernel image: $kernel"
else
	line=$("$here/kernels.sh" "--arch=$arch" "$kernel") || exit
	kernel=${line##*$'\t'}
fi

umask 022
qemu=""
work=$(mktemp -d)
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

copiers=() writers=()
build_initrd
copy_out out 1
copy_out err 2
start_qemu
for writer in "${writers[@]}"; do exec {writer}>&-; done
ended=0
wait "$qemu" || ended=$?
qemu=""
wait "${copiers[@]}"

if [[ -e $work/gone ]]; then
	(( $(<"$work/gone") == 141 )) || die "could not pass the output on"
	exit 141
fi
case $ended in
124 | 137) guest_failed 124 -40 "timeout after $timeout s" ;;
esac
if [[ ! -s $work/console ]]; then
	cat "$work/qemu" >&2
	die "QEMU could not start (exit status $ended)"
fi
if message=$(grep -a -n -m 1 -E "$serious" "$work/console"); then
	guest_failed 125 "+${message%%:*}" "the kernel logged a serious message"
fi
[[ $(<"$work/status") =~ ^exit\ ([0-9]+)\ tainted\ ([0-9]+)$ ]] ||
	guest_failed 125 -40 "the machine ended before the command did"
(( (BASH_REMATCH[2] & tainting) == 0 )) ||
	guest_failed 125 -40 "the kernel is tainted (${BASH_REMATCH[2]})"
exit "${BASH_REMATCH[1]}"
