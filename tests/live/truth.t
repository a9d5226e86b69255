#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The truth tests on the running kernel: TRUTH_GROUPS, or those that a change most likely breaks, or with CHECK_ALL
# (scripts/check.sh --all) all, in full. Else each runs in its short form (drive --short): fewer cases of the same claims.
# Where one is left out, others make its claims:
#
#   again, percentiles, restarts        counts, output, endings
#   overhead, probe-check, probe-list   their tools' tests in tests/trust
#   file-breakdown                      tests/vm/6.12.t runs it; file-waits
#   keep-late, keep-tools               keep
#   privileges                          confined: what each tool keeps
#   return-calls, return-files, return-sends
#                                       return: the same for other hooks
#   user-files, user-go, user-languages, user-sandbox
#                                       user, inlined
later=again,percentiles,restarts,overhead,probe-check,probe-list,file-breakdown,keep-late,keep-tools,privileges
later+=,return-calls,return-files,return-sends,user-files,user-go,user-languages,user-sandbox
drive=$(dirname "$0")/../truth/drive
if [[ ${TRUTH_GROUPS-} ]]; then
	exec "$drive" "--only=$TRUTH_GROUPS"
elif [[ ${CHECK_ALL-} ]]; then
	exec "$drive"
fi
exec "$drive" --short "--except=$later"
