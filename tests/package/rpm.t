#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# RPM's packages, made by rpmbuild of what make has compiled: twice the same bytes, and what rpmlint says.
# Of two tools; with PACKAGE_TOOLS=all of all.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
for need in rpmbuild rpmlint; do
	command -v "$need" >/dev/null || { echo "1..0 # SKIP there is no $need"; exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=(syscall-count trace-bias)
[[ ${PACKAGE_TOOLS-} != all ]] || mapfile -t tools < <(cd tools && printf '%s\n' */ | sed 's,/$,,' | grep -vx lib)

# Objects are the same however they are linked: what is compiled is not compiled again.
mkdir "$work/build"
[[ ! -d build/lib ]] || cp -a build/{vmlinux.h,bpf-flags,bpf,gen,flags,lib,man} "$work/build"
# The archive's files are dated by the commit, which may be later.
find "$work/build" -type f -exec touch -d "@$(date +%s)" {} +
scripts/package/rpm --output="$work/1" --build="$work/build" --tools="${tools[*]}" >"$work/log" 2>&1
is "rpmbuild makes packages" $? 0 || { tail -n 40 "$work/log" | tap_quote >&2; exit 1; }
(umask 077 && TZ=Pacific/Kiritimati LC_ALL=tr_TR.UTF-8 TMPDIR=$work scripts/package/rpm --output="$work/2" --build="$work/build" --tools="${tools[*]}") >"$work/log" 2>&1
for file in "$work"/1/*.rpm; do
	is "${file##*/} is the same when made elsewhere" "$(cmp "$file" "$work/2/${file##*/}" 2>&1)" ""
done
rpm=$(printf '%s\n' "$work"/1/*.rpm | grep -v '[.]src[.]rpm$')
is "its version is the Makefile's" "$(rpm -qp --queryformat '%{VERSION}' "$rpm" 2>/dev/null)" "$(sed -nE 's/^VERSION *:= *//p' Makefile)"
listed=$(rpm -qlp "$rpm" 2>/dev/null)
is "each tool is in it, with its manual and its completion" "$(for tool in "${tools[@]}"; do
	grep -cE "/(s?bin/${tool}|man8/${tool}[.]8.*|completions/${tool}|vendor_completions.d/${tool}.fish)$" <<<"$listed"
done | sort -u)" 4
is "and units, generator, runner and manual of windows" "$(grep -cE '/(sbin/plumb-window|system/plumb-window@[.](service|timer)|system-generators/plumb-window-generator|man5/plumb-window[.]5.*)$' <<<"$listed")" 5
like "it needs the distribution's libbpf" "$(rpm -qp --requires "$rpm" 2>/dev/null)" 'libbpf[.]so[.]1'
rpmlint -c scripts/package/rpmlint.toml -r scripts/package/rpmlintrc "$work"/1/*.rpm "$work/1/plumb-tools.spec" >"$work/rpmlint" 2>&1
evidence "$work/rpmlint"
is "rpmlint has neither an error nor a warning" "$(grep -E ': [EW]: |Traceback' "$work/rpmlint")" ""
like "rpmlint has read them" "$(<"$work/rpmlint")" '3 packages and 1 specfiles checked|2 packages and 1 specfiles checked'
is "each filter says why" "$(awk '/^addFilter/ && last !~ /^#/ { print } { last = $0 }' scripts/package/rpmlintrc)" ""
done_testing
