#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Newer releases of Debian build everything, one with its gcc and one with its clang, with CHECK_ALL
# (scripts/check.sh --all) each with both, from the packages that scripts/lib/packages.sh names: with
# other libraries, another libbpf and a packaged vmlinux.h.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

((EUID == 0)) || { echo "1..0 # SKIP a chroot takes root"; exit 0; }
unshare --mount true 2>/dev/null || { echo "1..0 # SKIP no mount namespace"; exit 0; }

# The second compiler has the first one's BPF objects, and clang warns of the same without optimizing.
# What is built shows that it runs; of the unit tests, which share their make rule, one is built.
# shellcheck disable=SC2016 # for that shell
readonly gcc='
	gcc --version
	make B=/build CFLAGS=-O2 all workloads /build/unit/percentile && /build/bin/probe-check --about && /build/unit/percentile
	echo "gcc: $?"' clang='
	clang --version
	make B=/build CFLAGS=-O0 CC=clang all && /build/bin/probe-check --about
	echo "clang: $?"' static='
	echo "static: $(! ldd /build/bin/probe-check >/dev/null 2>&1; echo $?)"'

for suite in trixie sid; do
	case ${CHECK_ALL:-}$suite in
	trixie) compilers=gcc build=$gcc$static ;;
	sid) compilers=clang build=$clang$static ;;
	*) compilers="gcc clang" build=$gcc$clang$static ;;
	esac
	status=0
	scripts/chroots.sh "$suite" -- env -u WERROR sh -c "$build" >"$work/$suite" 2>&1 || status=$?
	if ((status == 77)); then
		skip "Debian $suite" "$(tail -n 1 "$work/$suite")"
		continue
	fi
	for compiler in $compilers; do
		is "Debian $suite builds with its $compiler" "$(grep "^$compiler: " "$work/$suite")" "$compiler: 0" ||
			grep -vE '^  [A-Z]+ ' "$work/$suite" | tail -n 40 | tap_quote >&2
	done
	is "... without a warning of a compiler" "$(grep -E '^[^ ]+:[0-9]+:[0-9]+: warning:' "$work/$suite" | sort -u)" ""
	like "... statically, or says why not" "$(tr '\n' ' ' <"$work/$suite")" 'static: 0|do not link statically here .*static: 1'
done
is "no mount is left" "$(grep -c plumb/chroots /proc/self/mounts)" 0
done_testing
