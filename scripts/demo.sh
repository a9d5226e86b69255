#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# From a bare Debian machine to percentiles of real system calls, and of
# what is below them: installs, builds what it shows, sends on loopback and traces that.

set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

case ${1-} in
'') ;;
-h | --help) echo "Usage: ${0##*/}: install, build three tools, and trace loopback workloads for half a minute (as root)"; exit 0 ;;
*) printf '%s: takes no arguments: %s\n' "${0##*/}" "$1" >&2; exit 2 ;;
esac
((EUID == 0)) || { echo "${0##*/}: tracing takes root" >&2; exit 1; }

step() { printf '\n== %s\n' "$*"; }
build() { make --no-print-directory -j"$(nproc)" "${@/#/build/}"; }

step "Installing compilers and libraries: ${packages_build[*]}"
packages_install "${packages_build[@]}"

step "Building syscall-latency, and a program that sends datagrams to itself"
build bin/syscall-latency tests/loop

workload='' labels=$(mktemp)
trap 'kill "$workload" 2>/dev/null || :; rm -f "$labels"' EXIT
build/tests/loop udp 8 >/dev/null &
workload=$!
step "syscall-latency -p $workload -s sendto,recvfrom -d 5 -H"
build/bin/syscall-latency -p "$workload" -s sendto,recvfrom -d 5 -H

step "Building tcp-sendmsg-lat and syscall-breakdown, and a program that sends to three receivers"
build bin/tcp-sendmsg-lat bin/syscall-breakdown tests/sends

# Below the system call: one partition's receiver is slow.
printf '127.0.0.2 partition-a\n127.0.0.3 partition-b\n' >"$labels"
sends=(build/tests/sends '127.0.0.2,200000,100' '127.0.0.3,20000,4096' '127.0.0.3,200,1000000,stall:20')
for tool in "tcp-sendmsg-lat --labels=$labels -b label,size" 'syscall-latency --split -b comm,syscall -s sendto' 'syscall-breakdown -s sendto'; do
	step "$tool -- ${sends[*]}"
	# shellcheck disable=SC2086 # words
	WORKLOAD_JSON=/dev/null build/bin/$tool -- "${sends[@]}" || (($? == 77)) # no mechanism here: it has said so
done
