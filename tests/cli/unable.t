#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Without the rights it is status 1, without BTF 77: one line each, and help is for everybody.
# Where no mechanism holds, or not the one that was asked for, it is 77 and a line for each.
. "$(dirname "$0")/lib.sh"
root_or_end "as nobody, without BTF, with mechanisms that are not there"

start_idle
chmod 755 "$work"

as_nobody() {
	status=0
	timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/bin/$1" \
		${operand[$1]:+"${operand[$1]}"} ${second[$1]:+"${second[$1]}"} "${@:2}" \
		</dev/null >"$out" 2>"$err" || status=$?
}

# In a mount namespace of its own nobody else sees what is hidden.
without_btf() {
	status=0
	# shellcheck disable=SC2016 # for that shell
	timeout 20 unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh \
		"$bin/$1" ${operand[$1]:+"${operand[$1]}"} ${second[$1]:+"${second[$1]}"} "${@:2}" </dev/null >"$out" 2>"$err" || status=$?
}

# It traces, or says why it cannot, or why it is not for what is asked: nothing else.
forced() {
	local by="--mechanism=$1" traced=$work/traced.$1
	rm -f "$traced"
	run "$tool" "$by" --no-calibrate -- touch "$traced"
	case $status in
	0)
		claim "$tool $by runs the command" test -e "$traced"
		claim "$tool $by traces by it" grep -qx "$tool: tracing … by $1" "$err"
		;;
	2) refused "$tool $by is wrong usage" 2 "$tool" "$by" ;;
	*) unable "$tool $by: if it does not hold, one line says why" "$tool" "$by" ;;
	esac
	[[ $status == 0 ]] || claim "$tool $by starts no command" test ! -e "$traced"
}

# A kprobe's program sees registers.
on_the_stack() {
	local mechanism
	[[ $("$bin/$tool" -b help) == *arg:* ]] || return
	for mechanism in $(mechanisms "$tool" | tr ' ' '\n' | grep ^kprobe); do
		run_bare "$tool" "--mechanism=$mechanism" -b arg:6 -d 0.1 ip_make_skb
		refused "$tool by $mechanism does not guess at an argument on the stack" 77 "$tool" "$mechanism" "argument 6 is on the stack"
	done
}

mkdir "$work/bin"
for tool in "${kinds[@]}"; do
	if has "$tool" --mechanism && has "$tool" COMMAND; then
		traces "$tool" || unable "$tool: where no mechanism holds it says why, and starts nothing" "$tool"
		for mechanism in $(mechanisms "$tool"); do
			forced "$mechanism"
		done
	fi

	has "$tool" --mechanism || continue
	# Where nobody can reach it.
	install -m 755 "$bin/$tool" "$work/bin/$tool"
	as_nobody "$tool" -d 0.1 -p "$idle"
	refused "$tool takes root, and says so" 1 "$tool" root CAP_BPF
	as_nobody "$tool" --help
	is "$tool --help does not" "$status $(<"$err")" "0 "
	as_nobody "$tool" -d x
	is "$tool knows wrong usage without being root" "$status" 2
	rm "$work/bin/$tool"

	if unshare --mount mount -t tmpfs none /sys/kernel/btf 2>/dev/null; then
		without_btf "$tool" -d 0.1 -p "$idle"
		refused "$tool takes BTF, and says so" 77 "$tool" BTF
		without_btf "$tool" --about
		is "$tool --about does not" "$status $(<"$err")" "0 "
	else
		skip "$tool without BTF" "no mount namespace"
	fi
done
for tool in "${tools[@]}"; do
	on_the_stack
done
done_trying
