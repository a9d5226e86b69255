#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The library's layers: a file includes its own layer, those that the layer's README names, and
# headers that BPF programs and loaders share.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

readme_of() {
	local file=tools/lib/$1/README.md
	[[ -f $file ]] || file=include/plumb/$1/README.md
	echo "$file"
}

layers=() allowed=""
for folder in tools/lib/*/ include/plumb/*/; do
	layer=$(basename "$folder")
	[[ $layer != manual && " ${layers[*]} " != *" $layer "* ]] || continue
	layers+=("$layer")
	may=$(sed -n 's/^May use: //p' "$(readme_of "$layer")" 2>&1)
	like "$layer says what it may use" "$may" .
	allowed+=$(printf '%s %s %s' "$layer" "$layer" "${may//,/}")$'\n'
done

# Upwards, of which file and line.
mapfile -t files < <(find tools/lib include/plumb -name '*.[ch]')
upwards=$(awk -v allowed="$allowed" '
	BEGIN {
		n = split(allowed, lines, "\n")
		for (i = 1; i <= n; i++) {
			m = split(lines[i], words, " ")
			for (j = 2; j <= m; j++)
				may[words[1], words[j]] = 1
		}
	}
	/^#include <plumb\// {
		split(FILENAME, from, "/")
		split($2, to, "/")
		if (!((from[3], to[2]) in may) && (to[2] != "bpf" || $2 ~ /[.]bpf[.]h/))
			print FILENAME ":" FNR ": " $0
	}' "${files[@]}")
is "no file includes what its layer may not use" "$upwards" ""
is "a layer that is used does not use its user" "$(awk '{
		for (i = 3; i <= NF; i++)
			uses[$1, $i] = 1
	}
	END {
		for (pair in uses) {
			split(pair, p, SUBSEP)
			if ((p[2], p[1]) in uses)
				print p[1] " and " p[2]
		}
	}' <<<"$allowed")" ""

# Files in reading order.
for layer in "${layers[@]}"; do
	readme=$(readme_of "$layer")
	missing=""
	while read -r name; do
		grep -qF "\`$name\`" "$readme" || missing+=" $name"
	done < <(find "tools/lib/$layer" "include/plumb/$layer" -name '*.[ch]' -printf '%f\n' 2>/dev/null |
		sed -E 's/(\.bpf)?\.[ch]$//' | sort -u)
	is "$readme has all files of its folder" "$missing" ""
done

done_testing
