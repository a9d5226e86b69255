#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Without the rights it is status 1, without BTF 77: one line each, and help is for everybody.
. "$(dirname "$0")/lib.sh"
root_or_end "as nobody, and without BTF"

start_idle
chmod 755 "$work"

as_nobody() {
	status=0
	timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$work/bin/$1" "${@:2}" \
		</dev/null >"$out" 2>"$err" || status=$?
}

# In a mount namespace of its own nobody else sees what is hidden.
without_btf() {
	status=0
	# shellcheck disable=SC2016 # for that shell
	timeout 20 unshare --mount sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' sh \
		"$bin/$1" "${@:2}" </dev/null >"$out" 2>"$err" || status=$?
}

mkdir "$work/bin"
for tool in "${tools[@]}"; do
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
done_trying
