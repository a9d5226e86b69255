#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Manual pages are formatted without a warning of man, which lintian reports, too.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh

command -v man >/dev/null || { echo "1..0 # SKIP there is no man"; exit 0; }
for page in build/man/*.[1-8]; do
	is "no warning: ${page##*/}" "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 "$page" 2>&1 >/dev/null)" ""
done
done_testing
