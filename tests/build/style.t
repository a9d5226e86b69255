#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What no reader should have to look for.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

mapfile -t files < <(git ls-files 2>/dev/null)
((${#files[@]})) || { echo "1..0 # SKIP not a git checkout"; exit 0; }

without_spdx=$(for f in "${files[@]}"; do
	case $f in
	*.md | LICENSE | LICENSES/* | .gitignore) ;;
	*) [[ -L $f ]] || head -5 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause' || echo "$f" ;;
	esac
done)
is "each file says its licence" "$without_spdx" ""

mapfile -t scripts < <(for f in "${files[@]}"; do
	[[ -L $f ]] || ! head -1 "$f" | grep -qE '^#!.*(bash|sh)$' || echo "$f"
done)
claim "shell scripts satisfy shellcheck" shellcheck --external-sources --source-path=SCRIPTDIR "${scripts[@]}"

mapfile -t library < <(find tools include -name "*.[ch]")
is "nothing unbounded or unchecked is called" \
	"$(grep -nE '\b(atoi|atol|strtol|strtoul|sprintf|gets|system|popen)\(' "${library[@]}")" ""
claim "code is formatted" clang-format --dry-run -Werror "${library[@]}" tests/*/*.[ch]

# Of loaders: in a BPF program the order has a meaning.
is "headers in <> are in order: the C library's, then ours, by name" "$(awk '
	FNR == 1 || !/^#include </ { last = "" }
	/^#include <[^>]*>$/ && FILENAME !~ /[.]bpf[.]|plumb\/bpf\// {
		this = (/<plumb\// ? "2" : "1") $2
		if (last > this && !/<bpf\//)
			print FILENAME ":" FNR ": " $2
		last = this
	}' "${library[@]}")" ""

# But a list of names, which is the inside of an array.
is "a header that is included twice is read once" \
	"$(git ls-files -z '*.h' | xargs -0 grep -L '^#pragma once$' | grep -v /syscalls-arm.h)" ""

mapfile -t code < <(printf '%s\n' "${files[@]}" | grep -E '[.](c|h|sh|t|py)$|^Makefile$|^tests/(truth|bench|vm|workloads)/[a-z]+$')
is "no file has more than 400 lines" "$(for f in "${code[@]}"; do
	lines=$(wc -l <"$f")
	((lines <= 400)) || echo "$f: $lines"
done)" ""
# From brace to brace, as clang-format puts them.
is "no function of C has more than 60 lines" "$(awk '
	/^{$/ { from = FNR }
	/^}$/ && from { if (FNR - from >= 60) print FILENAME ":" from ": " FNR - from + 1; from = 0 }' \
	"${library[@]}" tests/*/*.[ch])" ""
done_testing
