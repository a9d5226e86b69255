#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Times of reports have the date once a run has passed midnight: that of a time zone in which it is
# 15 s ahead.
#
# Seen to fail: with the time of day only.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
((EUID == 0)) || { echo "1..0 # SKIP tracing takes root"; exit 0; }

bin=$PWD/${PLUMB_BIN:-build/bin}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
evidence "$work/out" "$work/err"

left=$((86400 - 15 - EPOCHSECONDS % 86400))
((left >= 0)) || left=$((left + 86400))
zone=$(printf 'XXX-%02d:%02d:%02d' $((left / 3600)) $((left / 60 % 60)) $((left % 60)))
day=$(TZ=$zone date -d "@$((EPOCHSECONDS + 60))" +%F)
TZ=$zone "$bin/syscall-count" --no-calibrate -s getppid -p $$ 0.5 >"$work/out" 2>"$work/err" &
tool=$!
end=$((SECONDS + 60))
until grep -q "^$day 00:00:" "$work/out" || ((SECONDS >= end)); do sleep 0.2; done
kill -INT "$tool"
wait "$tool"
is "after midnight each time has the date" "$(grep -cE '^[0-9: -]*00:00:[0-9.]+$' "$work/out")" "$(grep -cE "^$day 00:00:[0-9.]+\$" "$work/out")"
claim "... and there are such" grep -qE "^$day 00:00:[0-9.]+\$" "$work/out"
claim "before, none has" grep -qE '^23:59:[0-9.]+$' "$work/out"
is "... of all" "$(grep -E '23:59:' "$work/out" | grep -vcE '^23:59:[0-9.]+$')" 0
done_testing
