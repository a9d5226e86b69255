#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The library's parts: a file uses its own part, those that the part's README names, and headers
# that BPF programs and loaders share.  What a tool cannot do without stays small.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

readme_of() {
	[[ $1 == bpf ]] && echo include/plumb/bpf/README.md || echo "tools/lib/$1/README.md"
}

parts=() allowed=""
for folder in include/plumb/bpf/ tools/lib/*/; do
	part=$(basename "$folder")
	[[ $part != manual ]] || continue
	parts+=("$part")
	may=$(sed -n 's/^May use: //p' "$(readme_of "$part")" 2>&1)
	like "$part says what it may use" "$may" .
	allowed+=$(printf '%s %s %s' "$part" "$part" "${may//,/}")$'\n'
done
is "each header is of a part" \
	"$(comm -13 <(printf '%s\n' "${parts[@]}" | sort) <(ls include/plumb))" ""

# For awk: whether a part MAY use another.
# shellcheck disable=SC2016
may='BEGIN {
		n = split(allowed, lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], words, " ")
			for (j = 2; j <= m; j++)
				may[words[1], words[j]] = 1
		}
	}'

# Upwards, of which file and line.
mapfile -t files < <(find tools/lib/*/ include/plumb -name '*.[ch]')
upwards=$(awk -v allowed="$allowed" "$may"'
	/^#include <plumb\// {
		split(FILENAME, from, "/")
		split($2, to, "/")
		if (!((from[3], to[2]) in may) && (to[2] != "bpf" || $2 ~ /[.]bpf[.]h/))
			print FILENAME ":" FNR ": " $0
	}' "${files[@]}")
is "no file includes what its part may not use" "$upwards" ""
# The core and what it knows of the kernel are one level.
is "a part that is used does not use its user" "$(awk '{
		for (i = 3; i <= NF; i++)
			uses[$1, $i] = 1
	}
	END {
		for (pair in uses) {
			split(pair, p, SUBSEP)
			if ((p[2], p[1]) in uses && p[1] < p[2] && p[1] p[2] != "corekernel")
				print p[1] " and " p[2]
		}
	}' <<<"$allowed")" ""

# --- the same by symbols, as the linker sees it: "FILE SYMBOL DEFINED-IN", of the library ---
mapfile -t objects < <(find build/lib -mindepth 2 -name '*.o')
references() {
	nm -A -g "$@" | sed 's#^build/lib/##; s#[.]o:# #' | awk '
		$(NF - 1) != "U" { if (!($NF in defined)) defined[$NF] = $1; next }
		{ wanted[++n] = $1 " " $NF }
		END {
			for (i = 1; i <= n; i++) {
				split(wanted[i], w, " ")
				if (w[2] in defined && defined[w[2]] != w[1])
					print w[1], w[2], defined[w[2]]
			}
		}'
}
symbols=$(references "${objects[@]}" build/lib/parts.o)
like "the library is built" "${#objects[@]}" '^[1-9][0-9][0-9]$'
is "no file needs symbols of what its part may not use" "$(awk -v allowed="$allowed" "$may"'
	$1 != "parts" && $3 != "parts" {
		split($1, from, "/")
		split($3, to, "/")
		if (!((from[1], to[1]) in may))
			print
	}' <<<"$symbols")" ""
is "core and kernel need nothing else but the table of parts" \
	"$(awk '$1 ~ /^(core|kernel)\// && $3 !~ /^(core|kernel)\// && $2 != "plumb_parts"' <<<"$symbols")" ""

# Lines of what TOOL is linked with, but for what only the table of parts needs.
needs() {
	references "${objects[@]}" "build/lib/$1".*.o | awk -v tool="$1." '
		{ of[$1] = of[$1] " " $3 }
		index($1, tool) == 1 { todo[++n] = $3 }
		END {
			while (n) {
				file = todo[n--]
				if (file in seen || index(file, tool) == 1)
					continue
				seen[file] = 1
				print "tools/lib/" file ".c"
				m = split(of[file], more, " ")
				for (i = 1; i <= m; i++)
					todo[++n] = more[i]
			}
		}' | xargs cat | wc -l
}
at_most() {
	claim "$1: $2, at most $3" test "$2" -le "$3"
}
at_most "runq-latency needs few lines of the library" "$(needs runq-latency)" 10150
at_most "func-latency needs few lines of the library" "$(needs func-latency)" 14400
at_most "the core has few files" "$(find tools/lib/core -name '*.c' | wc -l)" 45
at_most "the core has few lines" "$(cat tools/lib/core/*.c | wc -l)" 7120
at_most "kernel has few lines" "$(cat tools/lib/kernel/*.c | wc -l)" 1900

# Functions of the library that TOOL... call: what their authors meet.
calls() {
	local objects=()
	for tool; do objects+=("build/lib/$tool".*.o); done
	comm -12 <(nm -g "${objects[@]}" | awk '$1 == "U" { print $2 }' | sort -u) \
		<(nm -g build/lib/*/*.o | awk '$2 == "T" { print $3 }' | sort -u) | wc -l
}
at_most "simple tools call few functions" \
	"$(calls runq-latency syscall-count cpu-profile offcpu-time func-latency func-stack)" 60
mapfile -t tracers < <(grep -l "plumb_main(" tools/*/*.c | cut -d / -f 2 | grep -v lib | sort -u)
at_most "all tools that trace call not too many" \
	"$(calls "${tracers[@]}")" 171

# Files in reading order.
for part in "${parts[@]}"; do
	readme=$(readme_of "$part")
	missing=""
	while read -r name; do
		grep -qF "\`$name\`" "$readme" || missing+=" $name"
	done < <(find "tools/lib/$part" "include/plumb/$part" -name '*.[ch]' -printf '%f\n' 2>/dev/null |
		sed -E 's/(\.bpf)?\.[ch]$//' | sort -u)
	is "$readme has all files of its folder" "$missing" ""
done

# --- tools with folders: the README lists them in reading order, and each uses those above it ---
for readme in tools/*/README.md; do
	tool=$(basename "${readme%/README.md}")
	[[ $tool != lib ]] || continue
	mapfile -t order < <(sed -n 's#^\#\# \(.*\)/$#\1#p' "$readme")
	is "$readme has all folders" "$(printf '%s\n' "${order[@]}" | sort)" \
		"$(find "tools/$tool" -mindepth 1 -type d -printf '%f\n' | sort)"
	is "$readme has all files, under their folders" \
		"$(awk '/^## / { folder = $2 } /^\|/ { n = split($2 $3 $4, w, "`"); for (i = 2; i <= n; i += 2) print folder w[i] }' "$readme" | sort)" \
		"$(cd "tools/$tool" && find . -mindepth 2 -name '*.[ch]' -printf '%P\n' | sed 's/[.][ch]$//' | sort -u)"
	# "FROM TO", by includes and by symbols.
	mapfile -t objects < <(find "tools/$tool" -name '*.c' ! -name '*.bpf.c' | sed 's#^tools/##; s#/#.#g; s#^#build/lib/#; s#c$#o#')
	uses=$(grep -o '^#include "[a-z-]*/' "tools/$tool"/*/*.[ch] | sed -E 's#^tools/[^/]*/([^/]*)/.*"(.*)/#\1 \2#'
		references "${objects[@]}" | sed -nE "s#^${tool}[.](.*)[.][^ ]* .* ${tool}[.](.*)[.][^ ]*\$#\1 \2#p")
	is "no folder of $tool uses one below it" "$(sort -u <<<"$uses" | awk -v order="${order[*]}" '
		BEGIN {
			n = split(order, o)
			for (i = 1; i <= n; i++)
				at[o[i]] = i
		}
		!($1 in at && $2 in at) || at[$1] < at[$2]')" ""
done

done_testing
