#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The newest release of Debian builds everything with its clang, with CHECK_ALL (scripts/check.sh --all)
# it and the one before with gcc and clang, from the packages that scripts/lib/packages.sh names: with
# other libraries, another libbpf and a packaged vmlinux.h.  What sid's LLVM makes of the programs is
# loaded, and its libbpf takes BPF tokens.

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
	make -j"$(nproc)" B=/build CFLAGS=-O2 all workloads /build/unit/percentile && /build/bin/probe-check --about && /build/unit/percentile
	echo "gcc: $?"' clang='
	clang --version
	make -j"$(nproc)" B=/build CFLAGS=-O0 CC=clang all && /build/bin/probe-check --about
	status=$?
	llvm-objdump -d /build/bpf/*.bpf.o | grep -o "atomic_fetch_.*" | sort | uniq -c | sed "s/^/fetches: /"
	tar -c -C /build/bin $newer >&3
	echo "clang: $status"' static='
	echo "static: $(! ldd /build/bin/probe-check >/dev/null 2>&1; echo $?)"'

# Loaded by kernels that are strict about the size of stacks, or follow more paths.
newer="syscall-latency func-latency file-latency tcp-sendmsg-lat file-io-breakdown syscall-count"
loads() {
	local file tools=()
	mkdir "$work/newer"
	tar -x -C "$work/newer" -f "$work/tar"
	for file in $newer; do
		tools+=("--file=$work/newer/$file:/newer/$file")
	done
	status=0
	scripts/vm.sh "${tools[@]}" --file=tests/build/newer-llvm.guest:/run.guest "$1" -- /run.guest \
		>"$work/said" 2>"$work/err" || status=$?
	if ((status == 77)); then
		skip "Linux $1" "the archive has no such kernel"
		return
	fi
	evidence "$work/said" "$work/err"
	is "Linux $1 loads the programs of sid's LLVM" "$status $(sed -n '/^[a-z]*-[a-z-]*: /p' "$work/said" | paste -sd ' ')" \
		"0 tcp-sendmsg-lat: $2 file-latency: $2 file-io-breakdown: $3 syscall-count: $3"
	[[ $1 == 6.12 ]] || return
	is "by a token of BPF, all calls are counted in a user namespace" "$(grep '^token calls:' "$work/said")" \
		'token calls: "recorded":500'
	is "... and functions are traced by fentry" "$(grep '^token function:' "$work/said")" "token function: fentry"
	like "... without a token, nothing is" "$(grep '^no token:' "$work/said")" 'tracing needs root.*in another$'
	like "a token that cannot be had is told of: no folder" "$(grep '^no folder:' "$work/said")" 'no BPF token from .*/none: No such file'
	like "... no bpffs" "$(grep '^no bpffs:' "$work/said")" 'no BPF token from /proc: '
	is "root does without" "$(grep '^no namespace:' "$work/said")" "no namespace: 1"
}

for suite in ${CHECK_ALL:+trixie} sid; do
	case ${CHECK_ALL:-}$suite in
	sid) compilers=clang build=$clang$static ;;
	*) compilers="gcc clang" build=$gcc$clang$static ;;
	esac
	status=0
	scripts/chroots.sh "$suite" -- env -u WERROR "newer=$newer" sh -c "$build" \
		>"$work/$suite" 2>&1 3>"$work/tar" || status=$?
	if ((status == 77)); then
		skip "Debian $suite" "$(tail -n 1 "$work/$suite")"
		continue
	fi
	for compiler in $compilers; do
		is "Debian $suite builds with its $compiler" "$(grep "^$compiler: " "$work/$suite")" "$compiler: 0" ||
			grep -vE '^  [A-Z]+ ' "$work/$suite" | tail -n 40 | tap_quote >&2
	done
	is "... without a warning of a compiler" "$(grep -E '^[^ ]+:[0-9]+:[0-9]+: warning:' "$work/$suite" | sort -u)" ""
	[[ $suite != sid ]] || is "... with no instruction that Linux before 5.12 lacks" "$(grep '^fetches: ' "$work/$suite")" ""
	like "... statically, or says why not" "$(tr '\n' ' ' <"$work/$suite")" 'static: 0|do not link statically here .*static: 1'
done
if [[ -s $work/tar ]]; then
	loads 6.12 fentry raw_tracepoint
	[[ -z ${CHECK_ALL:-} ]] || loads 5.10 fentry raw_tracepoint
	[[ -z ${CHECK_ALL:-} ]] || loads 7 kprobe.session tracepoint
fi
is "no mount is left" "$(grep -c plumb/chroots /proc/self/mounts)" 0
done_testing
