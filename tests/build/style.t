#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What no reader should have to look for.

set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

mapfile -t files < <(git ls-files 2>/dev/null)
((${#files[@]})) || { echo "1..0 # SKIP not a git checkout"; exit 0; }

# Not a process for each file.
mapfile -t files < <(for f in "${files[@]}"; do [[ -L $f ]] || echo "$f"; done)
with_spdx=$(awk 'FNR > 5 { nextfile } /SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause/ { print FILENAME; nextfile }' "${files[@]}" | sort)
is "each file says its licence" "$(printf '%s\n' "${files[@]}" | grep -vE '[.]md$|^LICENSE|^[.]gitignore$' | sort | comm -23 - <(echo "$with_spdx"))" ""

mapfile -t scripts < <(awk 'FNR == 1 && /^#!.*(bash|sh)$/ { print FILENAME } { nextfile }' "${files[@]}")
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
is "no file has more than 400 lines" "$(wc -l "${code[@]}" | awk '$1 > 400 && $2 != "total"')" ""
# From brace to brace, as clang-format puts them.
is "no function of C has more than 60 lines" "$(awk '
	/^{$/ { from = FNR }
	/^}$/ && from { if (FNR - from >= 60) print FILENAME ":" from ": " FNR - from + 1; from = 0 }' \
	"${library[@]}" tests/*/*.[ch])" ""
done_testing
