#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# From a bare Debian machine to percentiles of real system calls, and of
# what is below them: installs, builds, sends on loopback and traces that.

set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

case ${1-} in
'') ;;
-h | --help) echo "Usage: ${0##*/}: install, build, and trace loopback workloads for fifteen seconds (as root)"; exit 0 ;;
*) printf '%s: takes no arguments: %s\n' "${0##*/}" "$1" >&2; exit 2 ;;
esac
((EUID == 0)) || { echo "${0##*/}: tracing takes root" >&2; exit 1; }

packages_install "${packages_build[@]}"
make --no-print-directory all workloads

build/tests/loop udp 12 >/dev/null &
workload=$!
trap 'kill "$workload" 2>/dev/null || :' EXIT
echo "+ syscall-latency -p $workload -s sendto,recvfrom -d 10 -H"
build/bin/syscall-latency -p "$workload" -s sendto,recvfrom -d 10 -H

# Below the system call: one partition's receiver is slow.
labels=$(mktemp)
trap 'kill "$workload" 2>/dev/null || :; rm -f "$labels"' EXIT
printf '127.0.0.2 partition-a\n127.0.0.3 partition-b\n' >"$labels"
sends=(build/tests/sends '127.0.0.2,200000,100' '127.0.0.3,20000,4096' '127.0.0.3,200,1000000,stall:20')
echo
echo "+ tcp-sendmsg-lat --labels=PARTITIONS -b label,size -- ${sends[*]}"
WORKLOAD_JSON=/dev/null build/bin/tcp-sendmsg-lat --labels="$labels" -b label,size -- "${sends[@]}" ||
	(($? == 77)) # neither function probes nor the tracepoints: it has said so

# Where that time goes, and in which function of the kernel.
for tool in 'syscall-latency --split -b comm,syscall' syscall-breakdown; do
	echo
	echo "+ $tool -s sendto -- ${sends[*]}"
	# shellcheck disable=SC2086 # words
	WORKLOAD_JSON=/dev/null build/bin/$tool -s sendto -- "${sends[@]}" || (($? == 77))
done
