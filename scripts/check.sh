#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# From a bare Debian machine to every test passed: installs what building and
# testing need, builds with gcc and with clang, and runs all tests under prove.

set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

usage() {
	cat <<-END
	Usage: ${0##*/} [--no-install] [--all | --no-vm | --quick | --here]

	Install what building and testing need (apt; as root), build, run the tests.

	  --no-install  use what is there
	  --all         also what takes long: every group of tests that depends on kernels on each
	                emulated kernel, arm64, compilers of other releases, each tool where one of its
	                kind stands for all, packages; hours
	  --no-vm       leave out the emulated machines
	  --quick       what a change most likely breaks, in 2 minutes: one build, units,
	                style, the command line, known workloads on the running kernel
	  --here        on a machine of a kind that was only emulated (CONTRIBUTING.md lists them): what
	                depends on the running kernel, in full, as root; leaves one archive for sending,
	                with nothing of other processes

	Exit status: 0 all tests pass; 1 some do not, or something is missing; 2 wrong usage.
	END
}

install=1 vm=1 quick='' here=''
export CHECK_ALL= # tests that run more with --all read it
for option; do
	case $option in
	--no-install) install= ;;
	--all) CHECK_ALL=1 ;;
	--no-vm) vm= ;;
	--quick) quick=1 ;;
	--here) here=1 ;;
	-h | --help) usage; exit 0 ;;
	*) printf '%s: unknown option: %s (try --help)\n' "${0##*/}" "$option" >&2; exit 2 ;;
	esac
done

[[ -z $install ]] || packages_install "${packages_build[@]}" "${packages_test[@]}" "${packages_package[@]}"
[[ -z $CHECK_ALL || -z $install ]] || packages_install "${packages_arm64[@]}" "${packages_kernel[@]}"

# A release that cannot be fetched is a named skip, and so is a kernel that the archive lost.
fetch() {
	((EUID != 0)) || scripts/chroots.sh || (($? == 77))
	[[ -z $vm ]] || scripts/kernels.sh || (($? == 77))
	[[ -z $CHECK_ALL ]] || scripts/kernels.sh --arch=arm64 || (($? == 77))
}

fetching=
if [[ -z $quick$here ]]; then
	fetch &
	fetching=$!
fi
export WERROR=1
jobs=-j$(nproc)
make "$jobs" all single workloads units
mapfile -t units < <(find build/unit -type f -executable | sort)
export CMOCKA_MESSAGE_OUTPUT=TAP
# What fails says at once which claim it was: shell tests on stderr, unit tests by --failures.
[[ -z $here ]] || CHECK_ALL=1 exec scripts/lib/here tests/live/truth.t "${units[@]}"
prove=(prove --timer --failures --exec '')
if [[ -n $quick ]]; then
	# What traces in one lane, in the other what does not.
	TRUTH_GROUPS=counts,inflight,keys,ledger,split exec "${prove[@]}" --jobs 2 \
		--rules 'seq=tests/{live/truth,cli/agreement,cli/columns}.t' --rules 'seq=**' \
		tests/live/truth.t tests/cli/{agreement,columns,misuse,help}.t tests/build/{parts,style}.t "${units[@]}"
fi
# BPF objects and their skeletons are the same whatever compiles the rest, objects are the same however they
# are linked, and so are manual pages: made once.
mkdir -p build/{clang,dynamic}
cp -a --update build/{vmlinux.h,bpf-flags,bpf,gen,man} build/clang
cp -a --update build/{vmlinux.h,bpf-flags,bpf,gen,flags,lib,man} build/dynamic
make "$jobs" B=build/dynamic DYNAMIC=1 ${CHECK_ALL:+all} build/dynamic/bin/user-func-latency # which takes all libraries
make "$jobs" B=build/clang CC=clang CFLAGS=-O0 all ${CHECK_ALL:+units} # it warns of the same without optimizing
wait "$fetching"
if [[ $CHECK_ALL ]]; then
	mkdir -p build/arm64
	cp -a --update build/man build/arm64
	make "$jobs" arm64
fi

# Three at a time: known workloads under tools here, which make claims on time; an emulated machine, which yields
# to others (tests/vm/kernel); and one of the rest, of which two or three run where the others have ended.
tests=(tests/live/truth.t tests/trust/*.t tests/{live,cli,windows}/*.t tests/workloads/witness "${units[@]}" tests/{build,pictures}/*.t)
# One package shows what a linter says of the text that all have; of the image, its trace of a neighbour is cheap.
if [[ $CHECK_ALL ]]; then tests+=(tests/package/*.t); else tests+=(tests/package/{image,rpm}.t); fi
machines=()
if [[ -n $vm ]]; then
	# Those that take longest begin, so that in the end no lane is left with one.
	machines=(tests/vm/{6.12,7,5.10,6.12-disks,arm64-7,7-rt}.t tests/vm/*.t)
fi
# Minutes each: other releases' compilers, a bare system, systemd, sanitizers, what distributions' kernels and figures are.
later=(tests/build/{documented,releases}.t tests/live/policy-targets.t tests/trust/{fuzz,probe-check-kernels,trace-bias}.t
	tests/vm/{image,snapshots,windows}.t)
# Each once, and these with --all.
chosen() { printf '%s\n' "$@" | awk -v later="${later[*]}" -v all="$CHECK_ALL" 'NF && !seen[$0]++ && (all || !index(" " later " ", " " $0 " "))'; }
mapfile -t tests < <(chosen "${tests[@]}")
mapfile -t machines < <(chosen "${machines[@]}")
# The first of these that has a test left and runs none begins the next one.
lanes=(tests/{live/truth.t,'vm/*','live/*','cli/*','build/*','trust/*','{windows,pictures,package}/*','workloads/*'} 'build/unit/*')
exec "${prove[@]}" --jobs 3 "${lanes[@]/#/--rules=seq=}" "${tests[@]}" "${machines[@]}"
