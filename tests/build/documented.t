#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The commands of README.md and CONTRIBUTING.md run as they are written.  README's run where a newcomer
# runs them: the demo in a minimal Debian 12, without a compiler, make, and what only tests need; with
# CHECK_ALL (scripts/check.sh --all) also in 13, and the tarball is made, which tests/package/rpm.t makes
# of two tools.  CONTRIBUTING's run here; with CHECK_ALL also those that take minutes.  A command that
# this file does not know is a failure.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
# shellcheck source=../../scripts/package/lib.sh
. scripts/package/lib.sh
# shellcheck source=../../scripts/package/chroot.sh
. scripts/package/chroot.sh

((EUID == 0)) || { echo "1..0 # SKIP a chroot takes root"; exit 0; }
unshare --mount true 2>/dev/null || { echo "1..0 # SKIP no mount namespace"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The commands in the indented blocks of FILE, without what is said of them; what programs print there is none.
commands() {
	sed -nE 's/^    ((scripts|tests|build|make|bash)[ /].*)$/\1/p' "$1" | sed -E 's/ +# .*//'
}

# The time that process $1 and the children that it waited for were on a CPU, in ms.
cpu_ms() {
	sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ printf "%d", ($12 + $13 + $14 + $15) * 1000 / hz }'
}

# Run the commands $2... in the bare system of release $1, in one copy of the sources.  In $work: said (what
# they print), status (a line each), ms (of the demo, from the installed packages to the first percentiles).
bare() {
	local release=$1 line installed=0
	rm -rf "$work"/{said,status,ms,pid,command}*
	shift
	printf '%s\n' "$@" >"$work/commands"
	# shellcheck disable=SC2016 # for that shell
	chroot_run "bare-$release" "$work" sh -c 'mkdir /tree && cd /tree && tar -x --strip-components=1 -f /packages/sources.tar || exit
		while read -r line; do
			sh -c "echo \$\$ >/packages/pid; exec $line" </dev/null
			echo "$? $line" >>/packages/status
		done </packages/commands' 2>&1 | while IFS= read -r line; do
		printf '%s\n' "$line" >>"$work/said"
		case $line in
		'== Building syscall-latency'*) installed=$(cpu_ms "$(<"$work/pid")") ;;
		*P50*P99*) [[ -e $work/ms ]] || echo "$(($(cpu_ms "$(<"$work/pid")") - installed))" >"$work/ms" ;;
		esac
	done
}

# Claims on the demo in release $1.
demo_claims() {
	tail -n 30 "$work/said" >"$work/end"
	evidence "$work/status" "$work/end"
	is "Debian $1: README's commands succeed" "$(cut -d ' ' -f 1 "$work/status" 2>/dev/null | sort -u)" 0
	is "... the demo says each step before it" "$(grep -c '^== ' "$work/said")" 7
	is "... prints a table of each tool" "$(grep -cE '^ *(PID|COMM|LABEL) .*P50|^ *SHARE .*FUNCTION$' "$work/said")" 4
	like "... has percentiles after at most 90 s of CPU time" "$(cat "$work/ms" 2>/dev/null)" '^[1-8]?[0-9]{1,4}$'
	echo "# Debian $1: $(cat "$work/ms") ms of CPU time from the packages to the first percentiles"
}

scripts/package/dist --output="$work" >"$work/dist.log" 2>&1 && xz -dc "$work"/plumb-*.tar.xz >"$work/sources.tar"
claim "there are sources to build" test -s "$work/sources.tar"

mapfile -t readme < <(commands README.md)
is "README's commands are known" "$(printf '%s\n' "${readme[@]}" | sort | paste -sd ,)" "make image,make single,make tarball,scripts/check.sh,scripts/demo.sh"
for release in bookworm ${CHECK_ALL:+trixie}; do
	status=0
	chroot_provide "bare-$release" "$release" base-files || status=$?
	if ((status)); then
		skip "Debian $release" "it cannot be fetched"
		continue
	fi
	is "Debian $release: the minimal system has nothing to build with" \
		"$(chroot_run "bare-$release" "$work" sh -c 'command -v make gcc cc clang python3 git')" ""
	# scripts/check.sh is what runs this.
	wanted=(scripts/demo.sh)
	[[ -z ${CHECK_ALL:-} || $release != bookworm ]] || wanted+=("make tarball")
	bare "$release" "${wanted[@]}"
	demo_claims "$release"
done

# Those that other tests run, or that take hours; with --all those that take minutes run, too.
rest() {
	case $1 in
	tests/*.t) claim "CONTRIBUTING: $1 is a test" test -x "$1" ;;
	'tests/truth/drive 7') skip "CONTRIBUTING: $1" "all groups on one kernel take an hour" ;;
	'scripts/matrix >KERNELS.md') skip "CONTRIBUTING: $1" "it changes the sources" ;;
	'make deb' | 'make rpm' | 'make tarball' | 'make dist' | 'make sbom' | 'make arm64-tarball arm64-deb' | tests/truth/drive\ --*=* | \
		scripts/vm.sh\ *)
		if [[ ${CHECK_ALL:-} ]]; then
			claim "CONTRIBUTING: $1" sh -c "$1"
		else
			skip "CONTRIBUTING: $1" "takes minutes: with scripts/check.sh --all"
		fi
		;;
	build/unit/* | make\ -j* | 'bash -c '*packages_install*) claim "CONTRIBUTING: $1" bash -c "$1" ;;
	*) is "CONTRIBUTING: a command that this test knows" "$1" "" ;;
	esac
}
while read -r line; do
	rest "$line"
done < <(commands CONTRIBUTING.md)
is "no mount is left" "$(grep -c plumb/packages /proc/self/mounts)" 0
done_testing
