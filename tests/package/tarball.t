#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The archive of static tools: complete, with licences of all that is linked, the same bytes by two users in two places;
# and what is installed of every tool. The archive is of two tools, which link what all do, and of what make has compiled
# only a part is compiled again; with PACKAGE_TOOLS=all it is of all tools, by make tarball, and all is compiled again.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
. tests/package/lib.sh
top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
[[ -x build/bin/syscall-count ]] || { echo "Bail out! no tools in build/bin: make"; exit 1; }
! readelf -W -l build/bin/syscall-count | grep -q ' INTERP ' || { echo "1..0 # SKIP nothing links statically here"; exit 0; }
mapfile -t tools < <(cd tools && printf '%s\n' */ | sed 's,/$,,' | grep -vx lib)

unset WERROR SOURCE_DATE_EPOCH
# What is compiled is not compiled again, if it is by the same flags.
! grep -q -- -Werror build/flags || export WERROR=1
made="syscall-count trace-bias"
[[ ${PACKAGE_TOOLS-} != all ]] || made=${tools[*]}
make TOOLS="$made" LINKED="$work/linked" "$work/linked" >"$work/log" 2>&1
is "the linker tells what it links" $? 0 || cat "$work/log" >&2
mkdir "$work/libraries"
cp "$(gcc -print-file-name=libjansson.a)" "$work/libraries"
make TOOLS=syscall-count LINKED="$work/again" LDFLAGS="-L$work/libraries" "$work/again" -o build/link-flags >"$work/log" 2>&1
like "a library that was changed is linked as LINKED says" "$(<"$work/again")" "$work/libraries/libjansson.a"

make -s install-files DESTDIR="$work/all" prefix= sbindir=/sbin >"$work/log" 2>&1
is "every tool is installed" $? 0 || cat "$work/log" >&2

# Twice, with what may differ.
machine=$(gcc -dumpmachine | cut -d - -f 1)
mkdir "$work/build"
ln -s "$top"/build/* "$work/build"
rm -f "$work/build/linked"
cp "$work/linked" "$work/build/linked"
if [[ ${PACKAGE_TOOLS-} == all ]]; then
	make -s tarball >"$work/log" 2>&1 && mkdir "$work/1" && cp "build/package/plumb-"*"-$machine.tar.xz" build/package/SHA256SUMS "$work/1"
else
	scripts/package/tarball --build="$work/build" --machine="$machine" --tools="$made" --output="$work/1" >"$work/log" 2>&1
fi &
(umask 077 && TZ=Pacific/Kiritimati LC_ALL=tr_TR.UTF-8 scripts/package/tarball --build="$work/build" --machine="$machine" --tools="$made" --output="$work/2") >"$work/log2" 2>&1
wait $!
is "the archive is made" $? 0 || cat "$work/log" "$work/log2" >&2
name=plumb-$(sed -nE 's/^VERSION *:= *//p' Makefile)-$machine
is "twice the same" "$(cmp "$work/1/$name.tar.xz" "$work/2/$name.tar.xz" 2>&1)" ""
claim "its own sum is beside it" sh -c "cd '$work/1' && sha256sum -c SHA256SUMS"
tar -x -f "$work/1/$name.tar.xz" -C "$work"
cd "$work/$name" || exit 1
claim "the sums of its files hold" sha256sum --quiet -c SHA256SUMS
is "and are of all files" "$(find . -type f ! -name SHA256SUMS | wc -l)" "$(wc -l <SHA256SUMS)"
is "nothing is another user's" "$(tar -tvf "$work/1/$name.tar.xz" --numeric-owner | awk '$2 != "0/0"' | head -n 3)" ""

is "each link of its README leads to a file" "$(leads_nowhere .)" ""
is "the page of all examples is in it" "$(page_of_examples share/doc/plumb-tools)" "plumb $(sed -nE 's/^VERSION *:= *//p' "$top/Makefile")"
is "it has the tools that were asked for" "$(find sbin -type f -printf '%f\n' | sort | paste -s -d ' ')" "$made"
for tool in $made; do
	is "with manual and completions of $tool" "$(ls "share/man/man8/$tool.8" "share/bash-completion/completions/$tool" \
		"share/fish/vendor_completions.d/$tool.fish" share/zsh/site-functions/_plumb-tools 2>&1 >/dev/null)" ""
done

# The tools themselves, from the archive of the sources.
cd "$top" || exit 1
is "make deb and make rpm call the scripts of that name" "$(make -n deb rpm | paste -s -d ' ')" \
	"scripts/package/deb --output=build/package scripts/package/rpm --output=build/package"
make -s B="$work/b" dist >"$work/log" 2>&1
is "make dist packs the sources" $? 0 || cat "$work/log" >&2
mkdir -p "$work/another/build" "$work/home"
tar -x --strip-components=1 -f "$work"/b/package/plumb-*.tar.xz -C "$work/another"
if [[ ${PACKAGE_TOOLS-} != all ]]; then
	cp -a build/{static.mk,vmlinux.h,bpf-flags,bpf,gen,flags,lib} "$work/another/build"
	# Of each kind of object some, and all of these tools.
	(cd "$work/another/build" && rm -rf lib/{base,symbols} lib/libplumb.a {bpf,gen}/syscall-count* lib/{syscall-count,trace-bias}.* gen/*.inc)
	# The sources are dated by the commit, which may be later.
	find "$work/another/build" -type f -exec touch -d "@$(date +%s)" {} +
fi
other=(env)
if ((EUID == 0)); then
	chown -R nobody "$work"/{another,home}
	other=(unshare --net setpriv --reuid=nobody --regid=nogroup --clear-groups env)
fi
(cd "$work/another" && umask 077 && "${other[@]}" HOME="$work/home" TMPDIR="$work/home" TZ=Pacific/Kiritimati LC_ALL=tr_TR.UTF-8 LANGUAGE=tr USER=nobody \
	make -j2 TOOLS="$made" all >"$work/home.log" 2>&1)
is "another user builds the tools elsewhere, without a network" $? 0 || tail -n 40 "$work/home.log" | tap_quote >&2
for tool in $made; do
	is "$tool is the same" "$(cmp "build/bin/$tool" "$work/another/build/bin/$tool" 2>&1)" ""
done
cd "$work/$name" || exit 1

# As it is installed, of all tools.
missing=$(comm -23 <(find sbin share -type f -o -type l | sort) <(cd "$work/all" && find sbin share -type f -o -type l | sort))
is "make install installs what is in it" "$missing" ""
cd "$work/all" || exit 1
missing=""
for tool in "${tools[@]}"; do
	for file in sbin/"$tool" share/man/man8/"$tool.8" share/bash-completion/completions/"$tool" share/fish/vendor_completions.d/"$tool.fish"; do
		[[ -f $file ]] || missing+=" $file"
	done
	grep -qE "^#compdef.* $tool( |$)" share/zsh/site-functions/_plumb-tools || missing+=" zsh:$tool"
	[[ $(sbin/"$tool" --version 2>&1) == "$tool (plumb) "* ]] || missing+=" version:$tool"
done
is "each tool is there and runs, with its manual and completion of each shell" "$missing" ""

# As the terms of its parts ask for.
cd "$work/$name" || exit 1
packages=$(awk 'found { print $2 } /^FILE +PACKAGE/ { found = 1 }' LINKED | sort -u)
claim "it says what is linked" test "$(wc -l <<<"$packages")" -ge 10
for package in $packages; do
	claim "the licence of $package is there" sh -c "[ -s LICENSES/$package.copyright ] || [ -d LICENSES/$package ]"
done
is "so are the texts that those name" "$(cat LICENSES/*.copyright | grep -oE '/usr/share/common-licenses/[A-Za-z0-9.+-]*[A-Za-z0-9]' | sort -u |
	while read -r text; do [[ ! -f $text || -s LICENSES/${text##*/}.txt ]] || echo "$text"; done)" ""
like "it says how to link it with other libraries" "$(<LINKED)" 'make LDFLAGS=-L'

# What is in it, and what made it, for programs.
spdx() { /usr/bin/python3 "$top/tests/package/spdx.py" "$@" 2>&1; }
is "its bill of materials is as SPDX 2.3 asks for, and of its files" "$(spdx plumb.spdx.json .)" ""
is "it has the packages of what is linked, in the versions that dpkg has" \
	"$(jq -r '.packages[1:][] | "\(.name) \(.versionInfo)"' plumb.spdx.json | sort)" \
	"$(xargs dpkg -S <"$work/linked" | cut -d : -f 1 | sort -u | xargs dpkg-query -W -f '${Package} ${Version}\n' | sort -u)"
jq '.packages[1].licenseConcluded = "GPL-2.0-or-later OR"
	| .relationships[0].relatedSpdxElement = "SPDXRef-none" | .files[0].checksums[1].checksumValue |= sub("^.."; "00")' plumb.spdx.json >"$work/wrong.json"
is "what is wrong is found" "$(spdx "$work/wrong.json" . | grep -cE 'no licence|SPDXRef-none|SHA256')" 3
is "it says what built it" "$(cut -c 1-18 BUILT | sed 's/ *$//' | paste -s -d ,)" \
	"Sources,Commit,SOURCE_DATE_EPOCH,Distribution,Compiler,Linker,Compiler for BPF,Skeletons for BPF,Kernel's types"
is "and of which commit" "$(awk '$1 == "Commit" { print $2 }' BUILT)" "$(git -C "$top" rev-parse HEAD 2>/dev/null || cat "$top/scripts/package/commit" 2>/dev/null || echo unknown)"

# The manuals, as man-db reads them.
if command -v mandb >/dev/null; then
	mandb -c -q "$work/all/share/man" >/dev/null 2>&1
	for tool in "${tools[@]}"; do
		like "apropos finds $tool" "$(apropos -M "$work/all/share/man" -e "$tool" 2>&1)" "^$tool \(8\) +- ."
	done
	like "and by what it does" "$(apropos -M "$work/all/share/man" latency 2>&1)" 'syscall-latency'
else
	skip "apropos finds each tool" "there is no man-db"
fi

# Without the line of a library nothing is made.
cd "$top" || exit 1
cp -r scripts "$work/scripts"
sed -i '/^libjansson/d' "$work/scripts/package/libraries"
cp Makefile "$work"
SOURCE_DATE_EPOCH=1 PATH=$PATH "$work/scripts/package/tarball" --build="$work/build" --machine="$machine" --output="$work/3" >"$work/log" 2>&1
is "a library without a licence in the table is refused" "$? $(grep -c 'libjansson.a is linked, and scripts/package/libraries has no line' "$work/log")" "1 1"
done_testing
