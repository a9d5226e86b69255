# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# For tests that look at pictures in a browser: source it. What they write goes to $work, which goes with them.

set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here top=${here%/*/*}
cd "$top"

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

((EUID == 0)) || skip_all "tracing takes root"
command -v chromium chromedriver >/dev/null || skip_all "there is no chromium, or no chromedriver"
/usr/bin/python3 -c 'import selenium' 2>/dev/null || skip_all "there is no selenium for Python"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# What it keeps of its own, it keeps there.
export HOME=$work
