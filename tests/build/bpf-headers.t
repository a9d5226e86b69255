#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The macros that headers of BPF programs ask for are those of the table in their README, and each
# program stands in the source by the name of its hook.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
bpf=include/plumb/bpf
mapfile -t headers < <(find $bpf -name '*.h')

# "MACRO HEADER" of each condition, but for the compiler's names (__x).
asked=$(awk -v bpf=$bpf/ '
	/^#(if|ifdef|ifndef|elif)/ || more {
		more = /\\$/
		sub(/\/\*.*/, "")
		n = split($0, words, /[^A-Za-z0-9_]+/)
		for (i = 1; i <= n; i++)
			if (words[i] ~ /^[A-Z][A-Z0-9_]+$/)
				print words[i], substr(FILENAME, length(bpf) + 1)
	}' "${headers[@]}" | sort -u)
told=$(sed -nE 's/^\| `([A-Z_0-9]+)` \| `([a-z/.-]+)` \|.*/\1 \2/p' $bpf/README.md | sort -u)
is "the README has each macro that a header asks for, and no other" "$told" "$asked"
claim "they are few" test "$(cut -d ' ' -f 1 <<<"$asked" | uniq | wc -l)" -le 18

# But those of a macro's argument: copies of a program, and the cells of probe-cost's table.
is "each program is a function, not the body of a macro" "$(grep -rlE 'SEC\(.*\\$' include tools)" \
	"$(printf '%s\n' $bpf/core/copies.bpf.h tools/probe-cost/probe-cost.bpf.c)"
like "one is found by its hook" "$(grep -rFx 'SEC("raw_tp/sys_exit")' $bpf)" .
done_testing
