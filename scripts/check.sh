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

[[ -z $install ]] || packages_install "${packages_build[@]}" "${packages_test[@]}"

export WERROR=1
make all workloads units
mapfile -t units < <(find build/unit -type f -executable | sort)
if [[ -n $quick ]]; then
	TRUTH_GROUPS=counts,inflight,keys,ledger,split CMOCKA_MESSAGE_OUTPUT=TAP exec prove --timer --exec '' "${units[@]}" \
		tests/build/{layers,style}.t tests/cli/{agreement,columns,help,misuse}.t tests/live/truth.t
fi
make B=build/clang CC=clang all units
make B=build/dynamic DYNAMIC=1 all
((EUID != 0)) || scripts/chroots.sh || (($? == 77)) # neither is a release that cannot be fetched
[[ -z $vm ]] || scripts/kernels.sh || (($? == 77)) # a kernel that the archive lost is a named skip

tests=("${units[@]}" tests/build/*.t tests/cli/*.t tests/trust/*.t tests/flame/*.t tests/workloads/witness tests/live/*.t)
[[ -z $vm ]] || tests+=(tests/vm/*.t)
# An emulated machine takes one CPU, and what runs here bears no company of its kind: two lanes
# of about the same length.
CMOCKA_MESSAGE_OUTPUT=TAP exec prove --timer --jobs 2 --rules 'seq=tests/vm/{6.1-rt,6.12,6.12-full,7,7-hash,image,links,snapshots}.t' \
	--rules 'seq={build/unit,tests/build,tests/cli,tests/trust,tests/flame,tests/workloads,tests/live,tests/vm}/*' \
	--exec '' "${tests[@]}"
