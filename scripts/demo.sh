#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# From a bare Debian machine to a percentile ladder of real system calls:
# installs, builds, sends on loopback for ten seconds and traces that.

set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh

case ${1-} in
'') ;;
-h | --help) echo "Usage: ${0##*/}: install, build, and trace a loopback workload for ten seconds (as root)"; exit 0 ;;
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
