#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Debian's packages: the same bytes by two users in two places, what lintian says, hardening, and a minimal system
# in which they are installed, upgraded and purged. Of two tools; scripts/package/matrix builds all of them, in each
# release and by each compiler.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
. tests/package/lib.sh
for need in dpkg-buildpackage dh lintian mmdebstrap; do
	command -v "$need" >/dev/null || { echo "1..0 # SKIP there is no $need"; exit 0; }
done
((EUID == 0)) || { echo "1..0 # SKIP another user and a chroot take root"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
readonly tools="syscall-count trace-bias"
unset WERROR SOURCE_DATE_EPOCH

scripts/package/dist --output="$work" 2>"$work/dist.log"
is "the sources are packed" $? 0 || exit 1
sources=$(echo "$work"/plumb-*.tar.xz)
is "nothing of a build, of git or of packages is in them" "$(tar -tf "$sources" | grep -E '^[^/]*/([.]git/|build/|debian/)')" ""

# The second time by another user, elsewhere, with all else that may differ.
mkdir -p "$work/one" "$work/another" "$work/far-away" "$work/out1" "$work/out2"
tar -x --strip-components=1 -f "$sources" -C "$work/one"
(umask 077 && tar -x --strip-components=1 -f "$sources" -C "$work/another")
chown -R nobody "$work/another" "$work/far-away" "$work/out2"
(cd "$work/one" && TZ=UTC LC_ALL=C USER=root scripts/package/deb --output="$work/out1" --tools="$tools") >"$work/log1" 2>&1 &
(cd "$work/another" && umask 077 && setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$work/far-away" TMPDIR="$work/far-away" \
	TZ=Pacific/Kiritimati LC_ALL=tr_TR.UTF-8 LANGUAGE=tr USER=nobody B=/nowhere \
	scripts/package/deb --output="$work/out2" --tools="$tools") >"$work/log2" 2>&1
second=$?
wait $!
is "root builds the packages" $? 0 || tail -n 40 "$work/log1" | tap_quote >&2
is "so does another user" "$second" 0 || tail -n 40 "$work/log2" | tap_quote >&2

# The first byte that differs, of a file or of what is in it.
difference() {
	local one=$1 two=$2 file
	cmp -s "$one" "$two" && return 0
	cmp "$one" "$two" 2>&1
	case $one in
	*.deb)
		rm -rf "$work/in1" "$work/in2"
		dpkg-deb -R "$one" "$work/in1" && dpkg-deb -R "$two" "$work/in2"
		diff -rq --no-dereference "$work/in1" "$work/in2" >/dev/null || (cd "$work/in1" && find . -type f | sort | while read -r file; do
			cmp -s "$file" "$work/in2/$file" || cmp "$file" "$work/in2/$file"
		done)
		;;
	esac
}
for file in "$work"/out1/plumb-tools*; do
	name=${file##*/}
	[[ $name != *.buildinfo && $name != *.changes ]] || continue # they tell of the build
	is "$name is the same by both" "$(difference "$file" "$work/out2/$name" 2>&1)" ""
done
is "both made a package of programs, one of debugging information and the sources" \
	"$(cd "$work/out2" && printf '%s\n' ./*.deb ./*.dsc ./*.tar.* | sed -E 's/_[0-9].*(_[a-z0-9]+)?[.](deb|dsc|debian.*|orig.*)$/ \2/' | paste -s -d ,)" \
	"./plumb-tools-dbgsym deb,./plumb-tools deb,./plumb-tools dsc,./plumb-tools debian.tar.xz,./plumb-tools orig.tar.xz"
claim "the sources made of themselves are the same" cmp "$sources" "$(echo "$work"/out2/*.orig.tar.xz)"

deb=$(echo "$work"/out1/plumb-tools_*.deb)
version=$(sed -nE 's/^VERSION *:= *//p' Makefile)
is "its version is the Makefile's" "$(dpkg-deb -f "$deb" Version)" "$version-1"
like "it depends on the distribution's libbpf and elfutils" "$(dpkg-deb -f "$deb" Depends)" 'libbpf1.*libdw1.*libelf1'
is "its fields name the source of what the linker took of an archive" "$(dpkg-deb -f "$deb" Built-Using Static-Built-Using | sed 's/ (=.*//')" \
	"$(printf '%s: libiberty\n' Built-Using Static-Built-Using)"
is "units, generator, runner and manual of windows are in it" \
	"$(dpkg-deb -c "$deb" | grep -cE '/(sbin/plumb-window|system/plumb-window@[.](service|timer)|system-generators/plumb-window-generator|man5/plumb-window[.]5[.]gz)$')" 5
dpkg-deb -x "$deb" "$work/unpacked"
documents=$work/unpacked/usr/share/doc/plumb-tools
is "each link of its README leads to a file" "$(leads_nowhere "$documents")" ""
is "the page of all examples is in it" "$(page_of_examples "$documents")" "plumb $version"
is "... and is registered as a document" "$(sed -n 's/^Index: //p' "$work/unpacked/usr/share/doc-base/"*)" "${documents#"$work/unpacked"}/examples.html"
claim "each program is hardened" scripts/package/hardened "$deb"
is "no compiler warned" "$(grep -E '^[^ ]+:[0-9]+:[0-9]+: warning:' "$work/out1/deb.log" | sort -u)" ""
scripts/package/judge "$work"/out1/*.changes >"$work/lintian" 2>&1
is "lintian --pedantic has nothing to say" "$(grep -E '^[EWIP]: |internal error|^[Cc]annot' "$work/lintian")" ""
claim "lintian has read it" test "$(grep -c '^[IO]: plumb-tools' "$work/lintian")" -ge 1
is "each override says why" "$(awk '!/^#/ && last !~ /^#/ { print } { last = $0 }' scripts/package/debian/*lintian-overrides)" ""

status=0
scripts/package/installed "$deb" >"$work/installed" 2>&1 || status=$?
if ((status == 77)); then
	skip "a minimal system" "$(tail -n 1 "$work/installed")"
else
	is "it is installed in a minimal system, run, upgraded, purged, and has no file of other tracing tools" \
		"$status $(grep -v ': fetching$' "$work/installed")" "0 "
fi
is "no mount is left" "$(grep -c plumb/packages /proc/self/mounts)" 0
done_testing
