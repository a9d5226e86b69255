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
	Usage: ${0##*/} [--no-install] [--no-vm | --quick]

	Install what building and testing need (apt; as root), build, run all tests.

	  --no-install  use what is there
	  --no-vm       leave out the emulated machines
	  --quick       what a change most likely breaks, in 2 minutes: one build, units,
	                style, the command line, known workloads on the running kernel

	Exit status: 0 all tests pass; 1 some do not, or something is missing; 2 wrong usage.
	END
}

install=1 vm=1 quick=
for option; do
	case $option in
	--no-install) install= ;;
	--no-vm) vm= ;;
	--quick) quick=1 ;;
	-h | --help) usage; exit 0 ;;
	*) printf '%s: unknown option: %s (try --help)\n' "${0##*/}" "$option" >&2; exit 2 ;;
	esac
done

[[ -z $install ]] || packages_install "${packages_build[@]}" "${packages_test[@]}" "${packages_package[@]}"

# A release that cannot be fetched is a named skip, and so is a kernel that the archive lost.
fetch() {
	((EUID != 0)) || scripts/chroots.sh || (($? == 77))
	[[ -z $vm ]] || scripts/kernels.sh || (($? == 77))
}

fetching=
if [[ -z $quick ]]; then
	fetch &
	fetching=$!
fi
export WERROR=1
jobs=-j$(nproc)
make "$jobs" all workloads units
mapfile -t units < <(find build/unit -type f -executable | sort)
export CMOCKA_MESSAGE_OUTPUT=TAP
# What fails says at once which claim it was: shell tests on stderr, unit tests by --failures.
prove=(prove --timer --failures --jobs 2 --exec '')
if [[ -n $quick ]]; then
	# What traces in one lane, in the other what does not.
	TRUTH_GROUPS=counts,inflight,keys,ledger,split exec "${prove[@]}" \
		--rules 'seq=tests/{live/truth,cli/agreement,cli/columns}.t' --rules 'seq=**' \
		tests/live/truth.t tests/cli/{agreement,columns,misuse,help}.t tests/build/{layers,style}.t "${units[@]}"
fi
# BPF objects and their skeletons are the same whatever compiles the rest, objects are the same
# however they are linked: made once.
mkdir -p build/{clang,dynamic}
cp -a --update build/{vmlinux.h,bpf-flags,bpf,gen} build/clang
cp -a --update build/{vmlinux.h,bpf-flags,bpf,gen,flags,lib} build/dynamic
make "$jobs" B=build/clang CC=clang all units
make "$jobs" B=build/dynamic DYNAMIC=1 all
wait "$fetching"

tests=("${units[@]}" tests/build/*.t tests/cli/*.t tests/windows/*.t tests/trust/*.t tests/pictures/*.t tests/workloads/witness tests/live/*.t)
machines=()
if [[ -n $vm ]]; then
	# Those that take longest begin, so that in the end no lane is left with one.
	mapfile -t machines < <(printf '%s\n' tests/vm/{5.10,7,6.12,6.1,7-rt,6.1-rt,6.12-full}.t tests/vm/*.t | awk '!seen[$0]++')
fi
# An emulated machine takes one CPU, and what runs here bears no company of its kind: that is one
# lane, and emulated machines, each a rule, are the other, and both when the first is done.
exec "${prove[@]}" --rules 'seq={build/unit,tests/build,tests/cli,tests/windows,tests/trust,tests/pictures,tests/workloads,tests/live}/*' \
	"${machines[@]/#/--rules=seq=}" "${tests[@]}" "${machines[@]}"
