# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What fish offers for each line of stdin: the line, a tab, and the candidates.
# Usage: fish --no-config offers.fish DIRECTORY
set fish_complete_path $argv[1]
while read -l line
    printf '%s\t%s\n' $line (complete -C $line | string replace -r '\t.*' '' | sort -u | string join ' ')
end
