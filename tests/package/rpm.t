#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# RPM's packages, made by rpmbuild of what make has compiled, without a network: the same bytes by two users in two
# places, and what rpmlint says. Of two tools; with PACKAGE_TOOLS=all of all.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
. tests/package/lib.sh
for need in rpmbuild rpmlint; do
	command -v "$need" >/dev/null || { echo "1..0 # SKIP there is no $need"; exit 0; }
done
((EUID == 0)) || { echo "1..0 # SKIP another user and no network take root"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
tools=(syscall-count trace-bias)
[[ ${PACKAGE_TOOLS-} != all ]] || mapfile -t tools < <(cd tools && printf '%s\n' */ | sed 's,/$,,' | grep -vx lib)

# Objects are the same however they are linked: what is compiled is not compiled again, if it is by the same flags.
unset WERROR SOURCE_DATE_EPOCH
! grep -q -- -Werror build/flags 2>/dev/null || export WERROR=1
mkdir -p "$work"/{one,another,1,2,home,sources}
[[ ! -d build/lib ]] || cp -a build/{vmlinux.h,bpf-flags,bpf,gen,flags,lib,man} "$work/one"
# The archive's files are dated by the commit, which may be later.
find "$work/one" -type f -exec touch -d "@$(date +%s)" {} +
cp -a "$work/one/." "$work/another"
mkdir -p /var/tmp/plumb-tools-rpm/SOURCES # as if one had been interrupted
unshare --net scripts/package/rpm --output="$work/1" --build="$work/one" --tools="${tools[*]}" >"$work/log" 2>&1
is "rpmbuild makes packages" $? 0 || { tail -n 40 "$work/log" | tap_quote >&2; exit 1; }
rpm2cpio "$work"/1/*.src.rpm | (cd "$work" && cpio --quiet -i 'plumb-*.tar.xz')
tar -x --strip-components=1 -f "$work"/plumb-*.tar.xz -C "$work/sources"
chown -R nobody "$work"/{sources,another,2,home}
(cd "$work/sources" && umask 077 && unshare --net setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$work/home" TMPDIR="$work/home" \
	TZ=Pacific/Kiritimati LC_ALL=tr_TR.UTF-8 LANGUAGE=tr USER=nobody \
	scripts/package/rpm --output="$work/2" --build="$work/another" --tools="${tools[*]}") >"$work/log" 2>&1
is "so does another user" $? 0 || tail -n 40 "$work/log" | tap_quote >&2
for file in "$work"/1/*.rpm; do
	is "${file##*/} is the same by both" "$(cmp "$file" "$work/2/${file##*/}" 2>&1)" ""
done
rpm=$(printf '%s\n' "$work"/1/*.rpm | grep -v '[.]src[.]rpm$')
is "its version is the Makefile's" "$(rpm -qp --queryformat '%{VERSION}' "$rpm" 2>/dev/null)" "$(sed -nE 's/^VERSION *:= *//p' Makefile)"
listed=$(rpm -qlp "$rpm" 2>/dev/null)
is "each tool is in it, with its manual and its completion" "$(for tool in "${tools[@]}"; do
	grep -cE "/(s?bin/${tool}|man8/${tool}[.]8.*|completions/${tool}|vendor_completions.d/${tool}.fish)$" <<<"$listed"
done | sort -u)" 4
is "and units, generator, runner and manual of windows" "$(grep -cE '/(sbin/plumb-window|system/plumb-window@[.](service|timer)|system-generators/plumb-window-generator|man5/plumb-window[.]5.*)$' <<<"$listed")" 5
like "it needs the distribution's libbpf" "$(rpm -qp --requires "$rpm" 2>/dev/null)" 'libbpf[.]so[.]1'
root=(rpm --root "$work/root" --dbpath /rpm --nodeps --noscripts)
mkdir "$work/root"
"${root[@]}" -i "$rpm" >"$work/log" 2>&1
is "it is installed" "$(find "$work/root" -path "$work/root/rpm" -prune -o ! -type d -printf '/%P\n' | sort)" \
	"$(sort <<<"$listed" | while read -r file; do [[ -d $work/root$file ]] || echo "$file"; done)"
documents=$work/root$(sed -n 's,/README[.]md$,,p' <<<"$listed")
is "each link of its README leads to a file" "$(leads_nowhere "$documents")" ""
is "the page of all examples is beside it" "$(page_of_examples "$documents")" "plumb $(sed -nE 's/^VERSION *:= *//p' Makefile)"
"${root[@]}" -e plumb-tools >"$work/log" 2>&1
is "and removed: no file is left, and no folder of its own" \
	"$(find "$work/root" -path "$work/root/rpm" -prune -o \( ! -type d -o -name "*plumb*" \) -printf '/%P\n')" ""
rpmlint -c scripts/package/rpmlint.toml -r scripts/package/rpmlintrc "$work"/1/*.rpm "$work/1/plumb-tools.spec" >"$work/rpmlint" 2>&1
evidence "$work/rpmlint"
is "rpmlint has neither an error nor a warning" "$(grep -E ': [EW]: |Traceback' "$work/rpmlint")" ""
like "rpmlint has read them" "$(<"$work/rpmlint")" '3 packages and 1 specfiles checked|2 packages and 1 specfiles checked'
# Those of other distributions, which nothing here can build.
is "PKGBUILD, APKBUILD and the flake are of this version" "$(grep -hoE '(pkgver|version) ?= ?"?[0-9.]+' scripts/package/other/* | sed 's/.*[ ="]//' | sort -u)" \
	"$(sed -nE 's/^VERSION *:= *//p' Makefile)"
is "each says first that it is untested" "$(for file in scripts/package/other/*; do head -n 1 "$file"; done | grep -v '^# Untested: ')" ""
claim "PKGBUILD has bash's syntax" bash -n scripts/package/other/PKGBUILD
claim "APKBUILD has sh's" sh -n scripts/package/other/APKBUILD
is "each filter says why" "$(awk '/^addFilter/ && last !~ /^#/ { print } { last = $0 }' scripts/package/rpmlintrc)" ""
done_testing
